from pathlib import Path

from tests.cli.log.kit import extract, three_batches, write_log
from trio_kafka.cli.log.measure import Measure, measure
from trio_kafka.cli.log.places import folders_of


def measured(path: Path, *, records: bool = False) -> Measure:
    [folder] = folders_of([str(path)])
    result = measure(folder, records=records)
    assert result is not None
    return result


def test_measure_counts_transactions_producers_and_epochs(tmp_path: Path) -> None:
    result = measured(extract("txn", tmp_path) / "txn-0")

    assert (result.segments, result.batches, result.records) == (2, 11, 34)
    assert (result.committed, result.aborted, result.open) == (2, 2, 1)
    assert (result.start_offset, result.end_offset, result.missing) == (0, 34, 0)
    assert result.producers == {5, 2001}
    assert result.epochs == {0, 4}


def test_measure_counts_offsets_removed_by_compaction_as_missing(tmp_path: Path) -> None:
    assert measured(extract("compacted", tmp_path) / "compacted-0").missing == 18


def test_measure_reads_record_contents_only_on_request(tmp_path: Path) -> None:
    folder = extract("gzip", tmp_path) / "gzip-0"

    content = measured(folder, records=True).content

    assert (content.records, content.null_keys, content.null_values) == (40, 8, 8)
    assert content.plain > content.stored > 0
    assert measured(folder).content.records == 0


def test_measure_counts_damage_as_invalid_bytes(tmp_path: Path) -> None:
    first, second, third = three_batches()
    write_log(tmp_path / "t-0", 0, [first, b"\2" * 33, second, third[:-1]])

    result = measured(tmp_path / "t-0")

    assert result.invalid_bytes == 33 + len(third) - 1
    assert result.records == 4


def test_measure_counts_messages_of_old_formats(tmp_path: Path) -> None:
    data = Path(__file__).parents[2] / "records" / "data"
    write_log(tmp_path / "t-0", 100, [(data / "v0-gzip.bin").read_bytes()])

    result = measured(tmp_path / "t-0")

    assert (result.batches, result.records, result.end_offset) == (1, 5, 105)


def test_folder_without_segments_is_not_measured(tmp_path: Path) -> None:
    [folder] = folders_of([str(extract("log_dir_root", tmp_path))])

    assert measure(folder, records=False) is None


def test_adding_measures_sums_their_figures(tmp_path: Path) -> None:
    result = measured(extract("txn", tmp_path) / "txn-0", records=True)
    total = Measure()
    total.add(result)
    total.add(result)

    assert total.records == 2 * result.records
    assert total.content.plain == 2 * result.content.plain
    assert (total.earliest, total.latest) == (result.earliest, result.latest)


def test_end_offset_is_the_base_offset_of_an_empty_last_segment(tmp_path: Path) -> None:
    write_log(tmp_path / "t-0", 0, three_batches())
    write_log(tmp_path / "t-0", 10, [])

    assert measured(tmp_path / "t-0").end_offset == 10
