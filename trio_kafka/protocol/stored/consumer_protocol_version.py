"""Version before each message of the consumer protocol, an int16.

A newer version is read like the newest known one. Source: ConsumerProtocol of Apache Kafka 4.4.0.
"""

from struct import Struct
from typing import Final

from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.errors import DecodeError

_INT16: Final = Struct(">h")
VERSION_SIZE: Final = _INT16.size  # bytes
NEWEST: Final = 3


def version_of(content: bytes) -> int:
    """Return the version of a message, at most the newest known one. Raises DecodeError."""
    if len(content) < VERSION_SIZE:
        raise DecodeError(
            f"consumer protocol message of {len(content)} bytes: expected at least {VERSION_SIZE}"
        )
    version: int = _INT16.unpack_from(content)[0]
    if version < 0:
        raise DecodeError(f"consumer protocol version {version}: expected 0 or more")
    return min(version, NEWEST)


def versioned(message: object, version: int) -> bytes:
    """Return a message as bytes behind its version."""
    return _INT16.pack(version) + to_bytes(message, version)
