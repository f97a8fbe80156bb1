"""The sample APIs are proper messages with keys of plugins."""

import pytest

from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.schema import message_of
from trio_kafka.testing.sample_apis import EchoRequest, ReadRequest, WaitRequest


@pytest.mark.parametrize("message", [EchoRequest(), WaitRequest(), ReadRequest()])
def test_sample_api_has_a_response_and_is_decoded_as_encoded(message: object) -> None:
    description = message_of(type(message))

    assert description.response is not None
    assert description.key is not None
    assert description.key >= 10100
    assert decoder(type(message), 0)(to_bytes(message, 0))[0] == message
