import pytest

from trio_kafka.errors import ErrorCode
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.client.retry import Attempts, is_retriable, named, rejected
from trio_kafka_spark.client.settings import ClientSettings

SETTINGS = ClientSettings.from_options(
    {
        "kafka.bootstrap.servers": "a:1",
        "kafka.retry.backoff.ms": "100",
        "kafka.retry.backoff.max.ms": "1000",
    }
)


def attempts(pauses: list[float], timeout_ms: int = 60_000, most: int | None = None) -> Attempts:
    return Attempts(
        settings=SETTINGS,
        request="Fetch of t-0",
        timeout_ms=timeout_ms,
        most=most,
        sleep=pauses.append,
    )


def test_retry_pauses_double_up_to_the_maximum_with_jitter() -> None:
    pauses: list[float] = []
    work = attempts(pauses)

    for _ in range(7):
        work.failed("no")

    for pause, expected in zip(pauses, [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0], strict=True):
        assert pause == pytest.approx(expected, rel=0.21)


def test_a_success_resets_the_retry_pause() -> None:
    pauses: list[float] = []
    work = attempts(pauses)
    for _ in range(4):
        work.failed("no")
    work.succeeded()

    work.failed("no")

    assert pauses[-1] < 0.13


def test_the_deadline_error_names_the_work_the_attempts_and_the_last_reason() -> None:
    work = attempts([], timeout_ms=0)

    with pytest.raises(SourceError, match=r"Fetch of t-0: gave up after 1 attempt.*broker a:1: no"):
        work.failed("broker a:1: no")


def test_the_maximum_of_attempts_ends_the_work_before_the_deadline() -> None:
    work = attempts([], most=2)
    work.failed("first")

    with pytest.raises(SourceError, match=r"2 attempts .*second"):
        work.failed("second")


def test_an_unknown_error_code_is_shown_as_number_and_not_retried() -> None:
    assert (named(9999), is_retriable(9999)) == ("error 9999", False)
    assert (named(3), is_retriable(6)) == ("UNKNOWN_TOPIC_OR_PARTITION", True)
    assert "error 9999" in str(rejected("Fetch of t-0", 9999))


def test_a_rejection_has_the_condition_and_the_name_of_its_error_code() -> None:
    error = rejected("Fetch of t-0 at broker a:1", ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    assert str(error).startswith("[KAFKA_AUTHORIZATION_FAILED] Fetch of t-0 at broker a:1: ")
    assert "TOPIC_AUTHORIZATION_FAILED" in str(error)
