from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.cli.log.kit import records, three_batches, write_log
from tests.records.kit import encode_batch, encode_marker
from trio_kafka.cli.log import segment_checks
from trio_kafka.cli.log.findings import Finding, Level
from trio_kafka.cli.log.places import LogFile, classify
from trio_kafka.cli.log.segment_checks import MOST, LogCheck
from trio_kafka.records.batch import Record
from trio_kafka.records.control import Marker


def segments(
    folder: Path, *contents: tuple[int, Sequence[bytes]], topic: str = "t"
) -> list[LogFile]:
    result = []
    for base, batches in contents:
        file = classify(write_log(folder / f"{topic}-0", base, batches))
        assert file is not None
        result.append(file)
    return result


def check(files: list[LogFile], **options: object) -> list[Finding]:
    checked = LogCheck(topic="t", **options)  # type: ignore[arg-type]
    result = list(checked.check([(file, {}) for file in files]))
    return [finding for finding in result if "builds it again" not in finding.text]


FIRST, SECOND, THIRD = three_batches()


def flipped(batch: bytes, at: int, value: int) -> bytes:
    result = bytearray(batch)
    result[at] = value
    return bytes(result)


def test_undamaged_log_has_no_findings(tmp_path: Path) -> None:
    assert check(segments(tmp_path, (0, [FIRST, SECOND]), (4, [THIRD]))) == []


@pytest.mark.parametrize(
    ("contents", "level", "text"),
    [
        ([(0, [flipped(FIRST, -1, 99), SECOND])], "error", "crc"),
        ([(0, [SECOND, FIRST])], "error", "offsets go back from 3 to 0"),
        ([(0, [FIRST, FIRST])], "error", "offsets go back from 1 to 0"),
        ([(0, [FIRST, THIRD])], "warning", "2 offsets are missing, in 1 gaps"),
        ([(0, [FIRST, SECOND, THIRD]), (5, [])], "error", "the next segment begins at 5"),
        ([(2, [FIRST])], "error", "offsets go back from 1 to 0"),
        ([(0, [FIRST, b"\2" * 90, SECOND])], "error", "90 bytes are no batch"),
        ([(0, [FIRST, SECOND[:-1]])], "warning", "incomplete batch"),
        ([(0, [FIRST, bytes(100)])], "warning", "allocated ahead, or lost in a power loss"),
        ([(0, [FIRST, SECOND[:-1]]), (4, [THIRD])], "error", "bytes are no batch"),
        ([(0, [flipped(FIRST, 15, 5), SECOND])], "error", "leader epoch 0 after 5"),
        ([(0, [flipped(FIRST, 60, 9)])], "error", "9 records for 2 offsets"),
    ],
)
def test_damaged_segment_gives_a_finding_with_its_level(
    contents: list[tuple[int, list[bytes]]], level: str, text: str, tmp_path: Path
) -> None:
    result = check(segments(tmp_path, *contents))

    assert any(text in finding.text and finding.level == level for finding in result), result


def test_offset_gaps_are_not_findings_in_a_compacted_log(tmp_path: Path) -> None:
    assert check(segments(tmp_path, (0, [FIRST, THIRD])), compacted=True) == []


def test_malformed_records_in_a_batch_with_a_right_crc_are_found(tmp_path: Path) -> None:
    whole = encode_batch([Record(value=b"v", timestamp=1)])
    wrong = encode_batch([Record(value=b"v", timestamp=1)], last_offset=5)
    from crc32c import crc32c

    broken = bytearray(whole)
    broken[-3] = 99  # the length of the value
    broken[17:21] = crc32c(bytes(broken[21:])).to_bytes(4, "big")
    files = segments(tmp_path, (0, [bytes(broken)]))

    assert "Level.ERROR" in repr(check(files)[0])
    assert check(files, quick=True) == []
    assert check(segments(tmp_path, (0, [wrong]))) == []


def test_max_timestamp_that_no_record_has_is_a_warning(tmp_path: Path) -> None:
    from crc32c import crc32c

    broken = bytearray(encode_batch(records("a", time=5)))
    broken[35:43] = (77).to_bytes(8, "big")
    broken[17:21] = crc32c(bytes(broken[21:])).to_bytes(4, "big")

    [result] = check(segments(tmp_path, (0, [bytes(broken)])))

    assert (result.level, result.text) == (Level.WARNING, "latest time 77, its records have 5")


def test_undecodable_records_of_an_internal_topic_are_warnings(tmp_path: Path) -> None:
    files = segments(tmp_path, (0, [FIRST]), topic="__consumer_offsets")
    checked = LogCheck(topic="__consumer_offsets")

    result = list(checked.check([(file, {}) for file in files]))

    assert {finding.level for finding in result} == {Level.WARNING}
    assert "not a record of this topic" in result[0].text


def test_leader_epochs_of_batches_are_compared_with_the_checkpoint(tmp_path: Path) -> None:
    files = segments(tmp_path, (0, three_batches(epoch=3)))

    def finds(epoch: int, last: int) -> list[str]:
        return [finding.text for finding in check(files, epoch_at=lambda _: epoch, last_epoch=last)]

    assert finds(3, 3) == []
    assert finds(1, 1) == []  # epoch 3 is not written yet
    assert finds(-1, 9) == []
    assert finds(4, 4) == ["leader epoch 3, leader-epoch-checkpoint says 4"]


def test_findings_beyond_the_limit_are_only_counted(tmp_path: Path) -> None:
    result = check(segments(tmp_path, (0, [FIRST] * (MOST + 50))))

    assert len(result) == MOST + 1
    assert result[-1].text == "49 more findings are left out"


def test_segment_deleted_during_the_check_is_left_out(tmp_path: Path) -> None:
    first, second = segments(tmp_path, (0, [FIRST, SECOND]), (4, [THIRD]))
    first.path.unlink()

    assert check([first, second]) == []


def test_batch_that_is_incomplete_while_being_written_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [file] = segments(tmp_path, (0, [FIRST, SECOND[:10]]))
    read: Callable[..., object] = segment_checks.read_batches
    calls = []

    def read_then_write(*arguments: object, **options: object) -> object:
        calls.append(arguments)
        if len(calls) == 1:
            with file.path.open("ab") as out:
                out.write(SECOND[10:] + THIRD)
        return read(*arguments, **options)

    monkeypatch.setattr(segment_checks, "read_batches", read_then_write)
    checked = LogCheck(topic="t")

    assert list(checked.check([(file, {})])) == []
    assert len(calls) == 2
    assert checked.end_offset == 6


def test_missing_transaction_index_entry_is_not_reported_after_damage(tmp_path: Path) -> None:
    begin = encode_batch(
        records("v"), 0, 0, producer_id=1, producer_epoch=0, base_sequence=0, transactional=True
    )
    abort = encode_marker(
        Marker(committed=False, coordinator_epoch=0),
        producer_id=1,
        producer_epoch=0,
        timestamp=1,
        base_offset=2,
    )

    def missed(*batches: bytes) -> list[str]:
        result = check(segments(tmp_path, (0, list(batches))), compacted=True)
        return [finding.text for finding in result if "has no entry" in finding.text]

    assert len(missed(begin, abort)) == 1
    assert missed(begin, b"\xff" * 70, abort) == []
