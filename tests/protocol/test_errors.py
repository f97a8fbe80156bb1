from trio_kafka.errors import ProtocolError
from trio_kafka.protocol.errors import DecodeError, EncodeError


def test_undecodable_bytes_end_a_connection_and_unencodable_values_do_not() -> None:
    assert issubclass(DecodeError, ProtocolError)
    assert issubclass(EncodeError, ValueError)
    assert not issubclass(EncodeError, ProtocolError)
