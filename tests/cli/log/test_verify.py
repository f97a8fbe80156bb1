import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.log.kit import extract, findings, run, run_json, three_batches, write_log
from trio_kafka.cli.log.findings import Finding
from trio_kafka.cli.log.folder_checks import Checker
from trio_kafka.cli.log.places import Folder, folders_of
from trio_kafka.cli.log.verify import check_folders
from trio_kafka.controls.values import Record
from trio_kafka.testing.kafka.threaded import running_broker


def test_verify_of_an_undamaged_log_ends_with_status_0_and_its_totals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = extract("plain", tmp_path) / "plain-0"

    status, lines = run(capsys, "verify", str(folder))

    assert status == 0
    assert lines == ["1 partitions, 7 files, 2.9 KiB, 8 batches: 0 errors, 0 warnings"]


def test_verify_of_a_damaged_log_ends_with_status_1_and_one_line_per_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third = three_batches()
    log = write_log(tmp_path / "t-0", 0, [first, b"\2" * 10, second, third[:-1]])

    status, lines = run(capsys, "verify", str(tmp_path / "t-0"))

    assert status == 1
    assert lines[0].startswith(f"error: {log} at position {len(first)}: 10 bytes are no batch")
    assert lines[1].startswith(f"warning: {log} at position {len(first + second) + 10}: ")
    assert lines[2].endswith("1 errors, 1 warnings")


def test_verify_with_warnings_only_ends_with_status_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, _, third = three_batches()
    write_log(tmp_path / "t-0", 0, [first, third])

    status, rows = run_json(capsys, "verify", str(tmp_path / "t-0"))

    assert status == 0
    assert len(findings(rows)) == 1
    assert rows[-1] == {
        "is": "totals",
        "partitions": 1,
        "files": 1,
        "bytes": len(first + third),
        "batches": 2,
        "errors": 0,
        "warnings": 1,
    }


def test_verify_checks_partitions_before_the_checkpoints_of_their_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    extract("log_dir_root", tmp_path)
    first, _, third = three_batches()
    write_log(tmp_path / "plain-0", 0, [first, third[:-1]])

    _, rows = run_json(capsys, "verify", str(tmp_path))

    assert "incomplete batch" in findings(rows)[0]
    assert "52 is after the log's end, 2" in "".join(findings(rows))


def test_verify_quick_does_not_decode_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path / "__consumer_offsets-0", 0, three_batches())

    _, all_of_it = run(capsys, "verify", str(log))
    _, quick = run(capsys, "verify", str(log), "--quick")

    assert len(all_of_it) == 7
    assert len(quick) == 1


def test_terminal_control_characters_in_a_path_are_escaped_in_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, _, third = three_batches()
    write_log(tmp_path / "\x1b[2J" / "t-0", 0, [first, third])

    _, lines = run(capsys, "verify", str(tmp_path / "\x1b[2J" / "t-0"))

    assert "\x1b" not in "".join(lines)


class BrokenDisk(Checker):
    def check(self, folder: Folder) -> Iterator[Finding]:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(folder.files[0].path))


def test_unreadable_file_is_an_error_and_the_other_files_are_checked(tmp_path: Path) -> None:
    logs = [write_log(tmp_path / name, 0, three_batches()) for name in ("t-0", "t-1")]

    result = list(check_folders(BrokenDisk(), folders_of([str(tmp_path)])))

    assert [finding.as_text() for finding in result] == [
        f"error: {log}: Input/output error" for log in logs
    ]


@pytest.mark.slow
def test_log_compacted_by_our_cleaner_has_no_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configs = {"cleanup.policy": "compact", "segment.bytes": str(1 << 20)}
    with running_broker(directory=str(tmp_path)) as kafka:
        kafka.create_topic("c", configs=configs)
        for _ in range(30):
            kafka.produce("c", *(Record(key=f"k{n % 50}", value="x" * 400) for n in range(100)))
        kafka.compact("c")
        assert len(kafka.records("c")) == 50
        beside, lines = run(capsys, "verify", str(tmp_path))
        assert beside == 0, lines

    status, lines = run(capsys, "verify", str(tmp_path))
    assert (status, lines[-1].rpartition(": ")[2]) == (0, "0 errors, 0 warnings"), lines
    assert run_json(capsys, "stats", str(tmp_path / "c-0"))[1][0]["missing_offsets"] == 2950
