"""Values without behaviour, shared by all layers.

Offsets and epochs are plain ints. An offset is absolute, an *end* offset exclusive; epochs start at
0. Times are milliseconds since 1970 in messages and files (`_ms`), and float seconds in code
(`_s`).
"""

from typing import Final, NewType

from trio_kafka.attributes import frozen

NodeId = NewType("NodeId", int)
TopicId = NewType("TopicId", bytes)  # 16 bytes as on the wire: uuid.UUID takes 0.7 µs to build

NO_NODE: Final = NodeId(-1)
ZERO_TOPIC_ID: Final = TopicId(bytes(16))
METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_TOPIC_ID: Final = TopicId(bytes(15) + b"\x01")


@frozen(order=True)
class TopicPartition:
    """Partition of a topic, printed as in directory names."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@frozen(order=True)
class Endpoint:
    """Address of a socket: host name or address, and TCP port (0: chosen by the system)."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def code_of(key: int, version: int) -> int:
    """Combine API key and version into the number that identifies both in a request."""
    return (key & 0xFFFF) << 16 | (version & 0xFFFF)


def key_of(code: int) -> int:
    """Return the API key; it is negative if the peer sent a negative one."""
    key = code >> 16
    return key - 0x10000 if key & 0x8000 else key


def version_of(code: int) -> int:
    """Return the API version; it is negative if the peer sent a negative one."""
    version = code & 0xFFFF
    return version - 0x10000 if version & 0x8000 else version
