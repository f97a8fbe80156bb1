import pytest

from trio_kafka.broker.errors import StartError
from trio_kafka.broker.exit_status import (
    BROKEN_INVARIANT,
    LOST_STORAGE,
    NOT_STARTED,
    exit_status_of,
)
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError

START = StartError("no directory")
LOST = LogDirError("/a", "gone")
BROKEN = InvariantError("never")


def raising(error: BaseException):
    def run() -> int:
        raise error

    return run


def test_the_status_of_what_ends_is_its_own() -> None:
    assert exit_status_of(lambda: 5) == 5


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (START, NOT_STARTED, "the broker did not start"),
        (KafkaError(ErrorCode.INVALID_REGISTRATION), NOT_STARTED, "the broker did not start"),
        (OSError(5, "broken"), NOT_STARTED, "the broker did not start"),
        (LOST, LOST_STORAGE, "storage is lost"),
        (BROKEN, BROKEN_INVARIANT, "a broken invariant stopped the broker"),
        (ExceptionGroup("g", [START, LOST]), LOST_STORAGE, "storage is lost"),
        (
            ExceptionGroup("g", [LOST, ExceptionGroup("g", [BROKEN])]),
            BROKEN_INVARIANT,
            "a broken invariant stopped the broker",
        ),
    ],
)
def test_the_gravest_error_decides_and_is_told(error, status: int, told: str, caplog) -> None:
    assert exit_status_of(raising(error)) == status
    assert [record.getMessage() for record in caplog.records] == [told]


def test_what_is_refused_is_told_in_the_words_of_what_was_asked(caplog) -> None:
    assert exit_status_of(raising(START), refused="nothing was formatted") == NOT_STARTED
    assert exit_status_of(raising(LOST), refused="nothing was formatted") == LOST_STORAGE

    told = [record.getMessage() for record in caplog.records]
    assert told == ["nothing was formatted", "storage is lost"]


def test_a_bug_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_status_of(raising(ZeroDivisionError()))
