from pathlib import Path

import pytest

from tests.cli.log.kit import extract, three_batches, write_log
from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.log.places import Kind, classify, folders_of
from trio_kafka.model import TopicPartition


@pytest.mark.parametrize(
    ("name", "kind", "offset", "mark"),
    [
        ("00000000000000000007.log", Kind.SEGMENT, 7, ""),
        ("00000000000000000007.index", Kind.OFFSET_INDEX, 7, ""),
        ("00000000000000000007.timeindex", Kind.TIME_INDEX, 7, ""),
        ("00000000000000000007.txnindex", Kind.TRANSACTION_INDEX, 7, ""),
        ("00000000000000000007.snapshot", Kind.PRODUCERS, 7, ""),
        ("00000000000000000007.log.deleted", Kind.SEGMENT, 7, ".deleted"),
        ("00000000000000000007.log.cleaned", Kind.SEGMENT, 7, ".cleaned"),
        ("00000000000000000007.log.swap", Kind.SEGMENT, 7, ".swap"),
        ("leader-epoch-checkpoint", Kind.EPOCHS, -1, ""),
        ("replication-offset-checkpoint", Kind.OFFSETS, -1, ""),
        ("partition.metadata", Kind.PARTITION, -1, ""),
        ("meta.properties", Kind.DIRECTORY, -1, ""),
        ("quorum-state", Kind.QUORUM, -1, ""),
        (".kafka_cleanshutdown", Kind.CLEAN_STOP, -1, ""),
        ("bootstrap.checkpoint", Kind.METADATA_SNAPSHOT, -1, ""),
        ("00000000000000000081-0000000001.checkpoint", Kind.METADATA_SNAPSHOT, 81, ""),
        ("00000000000000000081-0000000001.checkpoint.part", Kind.METADATA_SNAPSHOT, 81, ".part"),
    ],
)
def test_kind_of_a_log_file_is_derived_from_its_name(
    name: str, kind: Kind, offset: int, mark: str
) -> None:
    result = classify(Path("/data/orders-3") / name)

    assert result is not None
    assert (result.kind, result.offset, result.mark) == (kind, offset, mark)
    assert result.partition == TopicPartition("orders", 3)


@pytest.mark.parametrize("name", ["7.log", "x.index", "00000000000000000007.txt", ".lock"])
def test_file_with_an_unknown_name_has_no_kind(name: str) -> None:
    assert classify(Path(name)) is None


def test_log_directory_lists_its_own_files_and_its_partitions_in_order(tmp_path: Path) -> None:
    extract("log_dir_root", tmp_path)
    for name in ("t-10", "t-2", "a-0"):
        write_log(tmp_path / name, 0, three_batches())
    (tmp_path / "lost+found").mkdir()

    folders = list(folders_of([str(tmp_path)]))

    assert [folder.path.name for folder in folders] == [tmp_path.name, "a-0", "t-2", "t-10"]
    assert {file.kind for file in folders[0].files} == {
        Kind.OFFSETS,
        Kind.DIRECTORY,
        Kind.CLEAN_STOP,
    }
    assert all(folder.whole for folder in folders)


def test_files_of_a_partition_are_listed_by_offset(tmp_path: Path) -> None:
    [folder] = folders_of([str(extract("txn", tmp_path) / "txn-0")])

    assert [file.path.name[-12:] for file in folder.files[:6]] == [
        "00000000.log",
        "000000.index",
        "00.timeindex",
        "00000005.log",
        "000005.index",
        "05.timeindex",
    ]
    assert folder.files[-1].kind is Kind.PARTITION


def test_single_file_is_a_folder_that_is_not_whole(tmp_path: Path) -> None:
    log = write_log(tmp_path / "t-0", 0, three_batches())
    write_log(tmp_path / "t-0", 6, three_batches(6))

    [folder] = folders_of([str(log)])

    assert not folder.whole
    assert [file.path for file in folder.files] == [log]


def test_deleted_and_foreign_files_are_not_segments_of_a_partition(tmp_path: Path) -> None:
    log = write_log(tmp_path / "t-0", 0, three_batches())
    (tmp_path / "t-0" / "00000000000000000006.log.deleted").touch()
    (tmp_path / "t-0" / "note.txt").touch()

    [folder] = folders_of([str(tmp_path / "t-0")])

    assert [file.path for file in folder.of_kind(Kind.SEGMENT)] == [log]
    assert folder.unknown == ["note.txt"]


def test_path_without_log_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()

    with pytest.raises(CommandFailedError, match="no file of a log is in it"):
        list(folders_of([str(tmp_path)]))
