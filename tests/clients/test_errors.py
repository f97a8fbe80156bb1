"""Errors of clients: their texts, kinds and places."""

import pytest

from trio_kafka.clients.errors import (
    AbortableError,
    AuthorizationError,
    ClientError,
    FatalError,
    Place,
    ProducerFencedError,
    RecordTooLargeError,
    RetriableError,
    TimedOutError,
    client_error,
    error_of,
)
from trio_kafka.errors import ErrorCode

PLACE = Place(broker="broker 1 (a:9092)", topic="t", partition=3)


def test_error_names_broker_topic_partition_and_code():
    error = client_error(ErrorCode.INVALID_RECORD, "no key", place=PLACE, sent=True)

    assert str(error) == "t-3 at broker 1 (a:9092): INVALID_RECORD: no key"
    assert (error.broker, error.topic, error.partition) == ("broker 1 (a:9092)", "t", 3)
    assert (error.code, error.sent) == (ErrorCode.INVALID_RECORD, True)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, RetriableError),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, AuthorizationError),
        (ErrorCode.MESSAGE_TOO_LARGE, RecordTooLargeError),
        (ErrorCode.PRODUCER_FENCED, ProducerFencedError),
        (ErrorCode.TRANSACTION_ABORTABLE, AbortableError),
        (ErrorCode.REQUEST_TIMED_OUT, TimedOutError),
        (ErrorCode.INVALID_RECORD, ClientError),
    ],
)
def test_code_decides_the_kind_of_error(code, kind):
    assert type(client_error(code)) is kind


def test_kinds_exclude_one_another():
    for kind in (RetriableError, AbortableError, FatalError):
        others = {RetriableError, AbortableError, FatalError} - {kind}
        assert not any(issubclass(kind, other) for other in others)
    assert issubclass(TimedOutError, TimeoutError)


def test_error_is_made_again_with_the_same_content():
    error = client_error(ErrorCode.MESSAGE_TOO_LARGE, "x", place=PLACE, sent=True)
    again = error.again()

    assert again is not error
    assert (type(again), str(again), again.sent) == (type(error), str(error), True)


def test_unknown_code_of_a_response_is_an_unknown_server_error():
    assert error_of(9999) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert error_of(0) is ErrorCode.NONE
    assert str(Place()) == ""
