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
    return [f"{one.level} {one.path.name}: {one.text}" for one in check(*paths)]


@pytest.mark.parametrize("archive", [name for name in ARCHIVES if name != "log_dir_root"])
def test_what_kafka_wrote_has_no_findings(archive: str, tmp_path: Path) -> None:
    assert texts(extract(archive, tmp_path)) in (
        [],
        [f"warning {tmp_path.name}: no meta.properties: the directory is not formatted"],
    )


def test_checkpoints_are_compared_with_the_logs_beside_them(tmp_path: Path) -> None:
    for archive in ("log_dir_root", "plain", "txn", "trimmed", "compacted"):
        extract(archive, tmp_path)
    absent = {"epochs", "gzip", "logappend", "lz4", "snappy", "zstd"}

    found = texts(tmp_path)

    assert all("is not in this directory" in text for text in found)
    assert {text.split(": ")[1].split("-0")[0] for text in found} == absent | {
        "__consumer_offsets",
        "__share_group_state",
        "__transaction_state",
    }


def test_an_offset_beyond_the_log_is_found(tmp_path: Path) -> None:
    extract("log_dir_root", tmp_path)
    write_log(tmp_path / "plain-0", 0, three_batches())

    found = [text for text in texts(tmp_path) if "plain-0" in text]

    assert found == [
        "error recovery-point-offset-checkpoint: plain-0: 52 is after the log's end, 6",
        "warning replication-offset-checkpoint: plain-0: 52 is after the log's end, 6",
    ]


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex"])
def test_an_index_alone_is_checked_against_the_segment_beside_it(
    suffix: str, tmp_path: Path
) -> None:
    index = extract("txn", tmp_path) / "txn-0" / f"{5:020}{suffix}"
    assert texts(index) == []

    content = bytearray(index.read_bytes())
    content[17] ^= 1
    index.write_bytes(content)

    assert [one.path for one in check(index)] == [index] * len(check(index))
    assert check(index)[0].level is Level.ERROR


def test_an_index_without_its_segment_is_only_read(tmp_path: Path) -> None:
    index = extract("txn", tmp_path) / "txn-0" / f"{5:020}.index"
    (index.parent / f"{5:020}.log").unlink()

    assert texts(index) == [
        f"warning {index.name}: no segment is beside it: its entries are only read"
    ]


def test_indexes_of_the_last_segment_may_be_behind_while_a_broker_runs(tmp_path: Path) -> None:
    log = write_log(tmp_path / "t-0", 0, three_batches())
    log.with_suffix(".index").write_bytes(pack(">II", 1, 7))

    assert [one.level for one in check(tmp_path / "t-0")] == [Level.WARNING]

    (tmp_path / ".kafka_cleanshutdown").write_text("{}")

    assert [one.level for one in check(tmp_path / "t-0")] == [Level.ERROR]


def test_a_sealed_segment_without_indexes_is_a_warning(tmp_path: Path) -> None:
    write_log(tmp_path / "t-0", 0, three_batches())
    write_log(tmp_path / "t-0", 6, three_batches(6))

    assert texts(tmp_path / "t-0") == [
        f"warning {0:020}.log: no offset index: a broker builds it again at its start",
        f"warning {0:020}.log: no time index: a broker builds it again at its start",
    ]


def test_leftovers_and_lonely_indexes_are_warnings(tmp_path: Path) -> None:
    write_log(tmp_path / "t-0", 0, three_batches())
    (tmp_path / "t-0" / f"{9:020}.log.swap").touch()
    (tmp_path / "t-0" / f"{9:020}.index").touch()

    assert texts(tmp_path / "t-0") == [
        f"warning {9:020}.log.swap: left by an unfinished change, or in the middle of one (.swap)",
        f"warning {9:020}.index: no segment has this offset: a broker removes it",
    ]


def test_epochs_must_ascend_and_agree_with_the_batches(tmp_path: Path) -> None:
    write_log(tmp_path / "t-0", 0, three_batches(epoch=2))
    epochs = tmp_path / "t-0" / "leader-epoch-checkpoint"

    epochs.write_text("0\n2\n2 0\n1 3\n")
    assert texts(tmp_path / "t-0") == [f"error {epochs.name}: epoch 1 from 3 does not ascend"]

    epochs.write_text("0\n2\n1 0\n2 4\n")
    assert texts(tmp_path / "t-0") == [
        f"error {0:020}.log: leader epoch 2, leader-epoch-checkpoint says 1"
    ]


def test_a_snapshot_from_after_the_log_or_with_later_batches_is_found(tmp_path: Path) -> None:
    folder = extract("plain", tmp_path) / "plain-0"
    shutil.copy(folder / f"{52:020}.snapshot", folder / f"{60:020}.snapshot")
    shutil.copy(folder / f"{52:020}.snapshot", folder / f"{20:020}.snapshot")

    found = texts(folder)

    assert any("20.snapshot: producer" in text and text.startswith("error") for text in found)
    assert f"warning {60:020}.snapshot: it is of offset 60, the log ends at 52" in found


@pytest.mark.parametrize("cut", [1, 80])
def test_a_metadata_snapshot_that_was_cut_is_found(cut: int, tmp_path: Path) -> None:
    folder = extract("cluster_metadata", tmp_path) / "__cluster_metadata-0"
    path = folder / f"{81:020}-{1:010}.checkpoint"
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-cut])

    found = texts(path)

    assert (
        found[-1]
        == f"error {path.name}: no header at its begin, or no footer at its end: incomplete"
    )


def test_each_damaged_small_file_is_found(tmp_path: Path) -> None:
    folder = extract("txn", tmp_path) / "txn-0"
    damaged = [
        *sorted(folder.glob("*.snapshot")),
        folder / "leader-epoch-checkpoint",
        folder / "partition.metadata",
    ]
    for path in damaged:
        path.chmod(0o600)
        path.write_bytes(b"\xff" + path.read_bytes()[1:])

    assert {one.path for one in check(folder) if one.level is Level.ERROR} == set(damaged)


def test_a_log_ends_where_its_last_segment_begins_at_least(tmp_path: Path) -> None:
    extract("log_dir_root", tmp_path)
    write_log(tmp_path / "plain-0", 0, three_batches())
    write_log(tmp_path / "plain-0", 52, [])

    assert [text for text in texts(tmp_path) if "log's end" in text] == []
