import pytest

from trio_kafka.protocol.foreign import spoken_protocol


@pytest.mark.parametrize(
    ("first", "protocol"),
    [
        (b"GET / HTTP/1.1", "HTTP"),
        (b"OPTIONS *", "HTTP"),
        (b"HTTP/1.1 400", "HTTP"),
        (b"SSH-2.0-OpenSSH", "SSH"),
        (b"\x16\x03\x01\x02", "TLS"),
        (b"\x15\x03\x03\x00", "TLS"),
        (b"\0\0\0\x20\0\x12", None),
        (b"\x16", None),
        (b"", None),
    ],
)
def test_a_protocol_is_named_by_its_first_bytes(first: bytes, protocol: str | None) -> None:
    assert spoken_protocol(first) == protocol
