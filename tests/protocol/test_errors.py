from trio_kafka.errors import ProtocolError
from trio_kafka.protocol.errors import DecodeError, EncodeError


def test_a_decode_error_is_a_protocol_error_and_an_encode_error_is_a_value_error() -> None:
    assert issubclass(DecodeError, ProtocolError)
    assert issubclass(EncodeError, ValueError)
    assert not issubclass(EncodeError, ProtocolError)
