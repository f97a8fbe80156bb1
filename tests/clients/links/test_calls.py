"""Calls, and the errors by which they end."""

import pytest

from trio_kafka.clients.errors import (
    ClosedError,
    NotKafkaError,
    Place,
    RetriableError,
    TimedOutError,
    UnsupportedError,
)
from trio_kafka.clients.links.calls import Call, call_error
from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.protocol.errors import EncodeError
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest


@pytest.mark.parametrize(
    ("cause", "kind", "text"),
    [
        (None, ClosedError, "Metadata: the client was closed"),
        (TimeoutError("late"), TimedOutError, "Metadata: late"),
        (ConnectionResetError(), RetriableError, "Metadata: ConnectionResetError"),
        (ProtocolError("bytes"), NotKafkaError, "Metadata: bytes"),
        (EncodeError("value"), UnsupportedError, "Metadata: value"),
        (KafkaError(ErrorCode.UNSUPPORTED_VERSION, "old"), UnsupportedError, "Metadata: old"),
    ],
)
def test_cause_decides_the_kind_of_error(cause, kind, text):
    error = call_error(cause, Place(broker="broker 1"), "Metadata", sent=True)

    assert type(error) is kind
    assert text in str(error)
    assert str(error).startswith("at broker 1: ")
    assert error.sent


def test_call_is_named_after_its_request():
    call = Call(request=MetadataRequest(None), done=print, timeout_s=1.0)

    assert call.name == "Metadata"
    assert not call.sent
