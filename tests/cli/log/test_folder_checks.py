import shutil
from pathlib import Path
from struct import pack

import pytest

from tests.cli.log.kit import ARCHIVES, extract, three_batches, write_log
from trio_kafka.cli.log.findings import Finding, Level
from trio_kafka.cli.log.folder_checks import Checker
from trio_kafka.cli.log.places import folders_of
from trio_kafka.cli.log.verify import check_folders


def check(*paths: Path) -> list[Finding]:
    return list(check_folders(Checker(), folders_of([str(path) for path in paths])))


def texts(*paths: Path) -> list[str]:
    return [f"{finding.level} {finding.path.name}: {finding.text}" for finding in check(*paths)]


@pytest.mark.parametrize("archive", [name for name in ARCHIVES if name != "log_dir_root"])
def test_folder_written_by_kafka_has_no_findings(archive: str, tmp_path: Path) -> None:
    assert texts(extract(archive, tmp_path)) in (
        [],
        [f"warning {tmp_path.name}: no meta.properties: the directory is not formatted"],
    )


def test_checkpoint_entries_of_partitions_missing_in_the_directory_are_found(
    tmp_path: Path,
) -> None:
    for archive in ("log_dir_root", "plain", "txn", "trimmed", "compacted"):
        extract(archive, tmp_path)
    absent = {"epochs", "gzip", "logappend", "lz4", "snappy", "zstd"}

    result = texts(tmp_path)

    assert all("is not in this directory" in text for text in result)
    assert {text.split(": ")[1].split("-0")[0] for text in result} == absent | {
        "__consumer_offsets",
        "__share_group_state",
        "__transaction_state",
    }


def test_checkpoint_offset_beyond_the_log_end_is_found(tmp_path: Path) -> None:
    extract("log_dir_root", tmp_path)
    write_log(tmp_path / "plain-0", 0, three_batches())

    result = [text for text in texts(tmp_path) if "plain-0" in text]

    assert result == [
        "error recovery-point-offset-checkpoint: plain-0: 52 is after the log's end, 6",
        "warning replication-offset-checkpoint: plain-0: 52 is after the log's end, 6",
    ]


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex"])
def test_single_index_file_is_checked_against_the_segment_beside_it(
    suffix: str, tmp_path: Path
) -> None:
    index = extract("txn", tmp_path) / "txn-0" / f"{5:020}{suffix}"
    assert texts(index) == []

    content = bytearray(index.read_bytes())
    content[17] ^= 1
    index.write_bytes(content)

    assert [finding.path for finding in check(index)] == [index] * len(check(index))
    assert check(index)[0].level is Level.ERROR


def test_index_without_its_segment_is_read_with_a_warning(tmp_path: Path) -> None:
    index = extract("txn", tmp_path) / "txn-0" / f"{5:020}.index"
    (index.parent / f"{5:020}.log").unlink()

    assert texts(index) == [
        f"warning {index.name}: no segment is beside it: its entries are only read"
    ]


def test_last_segments_incomplete_index_is_an_error_only_after_a_clean_shutdown(
    tmp_path: Path,
) -> None:
    log = write_log(tmp_path / "t-0", 0, three_batches())
    log.with_suffix(".index").write_bytes(pack(">II", 1, 7))

    assert [finding.level for finding in check(tmp_path / "t-0")] == [Level.WARNING]

    (tmp_path / ".kafka_cleanshutdown").write_text("{}")

    assert [finding.level for finding in check(tmp_path / "t-0")] == [Level.ERROR]


def test_sealed_segment_without_indexes_is_a_warning(tmp_path: Path) -> None:
    write_log(tmp_path / "t-0", 0, three_batches())
    write_log(tmp_path / "t-0", 6, three_batches(6))

    assert texts(tmp_path / "t-0") == [
        f"warning {0:020}.log: no offset index: a broker builds it again at its start",
        f"warning {0:020}.log: no time index: a broker builds it again at its start",
    ]


def test_leftover_files_and_indexes_without_a_segment_are_warnings(tmp_path: Path) -> None:
    write_log(tmp_path / "t-0", 0, three_batches())
    (tmp_path / "t-0" / f"{9:020}.log.swap").touch()
    (tmp_path / "t-0" / f"{9:020}.index").touch()

    assert texts(tmp_path / "t-0") == [
        f"warning {9:020}.log.swap: left by an unfinished change, or in the middle of one (.swap)",
        f"warning {9:020}.index: no segment has this offset: a broker removes it",
    ]


def test_epochs_that_do_not_ascend_or_differ_from_the_batches_are_errors(tmp_path: Path) -> None:
    write_log(tmp_path / "t-0", 0, three_batches(epoch=2))
    epochs = tmp_path / "t-0" / "leader-epoch-checkpoint"

    epochs.write_text("0\n2\n2 0\n1 3\n")
    assert texts(tmp_path / "t-0") == [f"error {epochs.name}: epoch 1 from 3 does not ascend"]

    epochs.write_text("0\n2\n1 0\n2 4\n")
    assert texts(tmp_path / "t-0") == [
        f"error {0:020}.log: leader epoch 2, leader-epoch-checkpoint says 1"
    ]


def test_producer_snapshot_beyond_the_log_end_or_with_later_batches_is_found(
    tmp_path: Path,
) -> None:
    folder = extract("plain", tmp_path) / "plain-0"
    shutil.copy(folder / f"{52:020}.snapshot", folder / f"{60:020}.snapshot")
    shutil.copy(folder / f"{52:020}.snapshot", folder / f"{20:020}.snapshot")

    result = texts(folder)

    assert any("20.snapshot: producer" in text and text.startswith("error") for text in result)
    assert f"warning {60:020}.snapshot: it is of offset 60, the log ends at 52" in result


@pytest.mark.parametrize("cut", [1, 80])
def test_truncated_metadata_snapshot_is_an_error(cut: int, tmp_path: Path) -> None:
    folder = extract("cluster_metadata", tmp_path) / "__cluster_metadata-0"
    path = folder / f"{81:020}-{1:010}.checkpoint"
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-cut])

    result = texts(path)

    assert (
        result[-1]
        == f"error {path.name}: no header at its begin, or no footer at its end: incomplete"
    )


def test_every_damaged_snapshot_and_checkpoint_of_a_partition_is_found(tmp_path: Path) -> None:
    folder = extract("txn", tmp_path) / "txn-0"
    damaged = [
        *sorted(folder.glob("*.snapshot")),
        folder / "leader-epoch-checkpoint",
        folder / "partition.metadata",
    ]
    for path in damaged:
        path.chmod(0o600)
        path.write_bytes(b"\xff" + path.read_bytes()[1:])

    assert {finding.path for finding in check(folder) if finding.level is Level.ERROR} == set(
        damaged
    )


def test_log_end_is_at_least_the_base_offset_of_the_last_segment(tmp_path: Path) -> None:
    extract("log_dir_root", tmp_path)
    write_log(tmp_path / "plain-0", 0, three_batches())
    write_log(tmp_path / "plain-0", 52, [])

    assert [text for text in texts(tmp_path) if "log's end" in text] == []
