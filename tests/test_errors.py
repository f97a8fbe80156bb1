import errno
from pathlib import Path

import pytest

from trio_kafka.errors import (
    LONGEST_MESSAGE,
    ErrorCode,
    KafkaError,
    LogDirError,
    advice,
    leaves,
    only_leaf,
)

LINES = (Path(__file__).parent / "data" / "errors.txt").read_text().splitlines()[1:]
RECORDED = [line.split() for line in LINES]


def test_error_codes_have_the_numbers_and_names_of_kafka() -> None:
    assert {code.name: code.value for code in ErrorCode} == {
        name: int(number) for number, name, _ in RECORDED
    }


def test_error_codes_are_retriable_and_refresh_metadata_as_in_kafka() -> None:
    flags = {
        name: ("r" if code.retriable else "-") + ("m" if code.refreshes_metadata else "-")
        for name, code in ErrorCode.__members__.items()
    }

    assert flags == {name: recorded for _, name, recorded in RECORDED}


@pytest.mark.parametrize(
    ("message", "text"),
    [(None, "INVALID_CONFIG"), ("a.b: want a number", "INVALID_CONFIG: a.b: want a number")],
)
def test_kafka_error_keeps_its_code_and_message(message: str | None, text: str) -> None:
    error = KafkaError(ErrorCode.INVALID_CONFIG, message)

    assert (error.code, error.message, str(error)) == (ErrorCode.INVALID_CONFIG, message, text)


def test_long_error_message_is_shortened_to_fit_in_a_response() -> None:
    whole = KafkaError(ErrorCode.INVALID_CONFIG, "x" * LONGEST_MESSAGE)
    cut = KafkaError(ErrorCode.INVALID_CONFIG, "\U0001f600" * 32_767)

    assert whole.message == "x" * LONGEST_MESSAGE
    assert cut.message is not None
    assert cut.message.endswith("...")
    assert len(cut.message.encode()) < 32_767
    assert len(str(cut)) < 2 * LONGEST_MESSAGE


def test_an_error_kept_as_a_value_holds_no_frames_and_no_other_errors() -> None:
    def refuse() -> None:
        try:
            raise OSError("cut")
        except OSError as cut:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "cut") from cut

    try:
        refuse()
    except KafkaError as error:
        kept = error.as_value()

    assert (kept.__traceback__, kept.__cause__, kept.__context__) == (None, None, None)
    assert (kept.code, kept.message) == (ErrorCode.CORRUPT_MESSAGE, "cut")


def test_error_of_a_log_directory_names_the_directory() -> None:
    error = LogDirError("data/a", "fsync: input/output error")

    assert error.path == "data/a"
    assert str(error) == "log directory data/a: fsync: input/output error"


def test_only_leaf_unwraps_a_group_with_a_single_error_and_keeps_larger_groups() -> None:
    first, second = ValueError("1"), ValueError("2")
    group = ExceptionGroup("g", [first, ExceptionGroup("g", [second])])

    assert only_leaf(first) is first
    assert only_leaf(ExceptionGroup("g", [ExceptionGroup("g", [first])])) is first
    assert only_leaf(group) is group
    assert leaves(group) == [first, second]


def test_advice_is_given_for_a_full_disk_and_not_for_other_errors() -> None:
    assert advice(OSError(errno.ENOSPC, "full")) == ": make room on the disk"
    assert advice(OSError(errno.EPIPE, "broken")) == ""
    assert advice(ValueError("no")) == ""
    assert advice(None) == ""
