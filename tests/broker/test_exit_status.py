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


def test_exit_status_is_the_status_that_the_function_returns() -> None:
    assert exit_status_of(lambda: 5) == 5


@pytest.mark.parametrize(
    ("error", "status", "message"),
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
def test_most_severe_error_decides_the_exit_status_and_is_logged(
    error, status: int, message: str, caplog
) -> None:
    assert exit_status_of(raising(error)) == status
    assert [record.getMessage() for record in caplog.records] == [message]


def test_refused_start_is_logged_with_the_given_message(caplog) -> None:
    assert exit_status_of(raising(START), refused="nothing was formatted") == NOT_STARTED
    assert exit_status_of(raising(LOST), refused="nothing was formatted") == LOST_STORAGE

    messages = [record.getMessage() for record in caplog.records]
    assert messages == ["nothing was formatted", "storage is lost"]


def test_unexpected_exception_is_raised_and_not_converted_to_a_status() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_status_of(raising(ZeroDivisionError()))
