"""Values without behaviour, shared by all layers.

Offsets and epochs are plain ints: an offset is absolute, an *end* offset exclusive; an epoch starts
at 0. Times are milliseconds since 1970 in messages and files (`_ms`), seconds as float in code
(`_s`).
"""

from typing import Final, NewType

from trio_kafka.attributes import frozen

NodeId = NewType("NodeId", int)
TopicId = NewType("TopicId", bytes)  # 16 bytes, as on the wire: uuid.UUID costs 0.7 µs to build

NO_NODE: Final = NodeId(-1)
ZERO_TOPIC_ID: Final = TopicId(bytes(16))
METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_TOPIC_ID: Final = TopicId(bytes(15) + b"\x01")


@frozen(order=True)
class TopicPartition:
    """A partition by its topic's name, as it stands in directory names."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@frozen(order=True)
class Endpoint:
    """Where a socket is: a host name or address, and a TCP port (0: the system chooses)."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def code_of(key: int, version: int) -> int:
    """The number by which a request names its API and version."""
    return (key & 0xFFFF) << 16 | (version & 0xFFFF)


def key_of(code: int) -> int:
    """The API's key; negative where a peer has sent such a one."""
    key = code >> 16
    return key - 0x10000 if key & 0x8000 else key


def version_of(code: int) -> int:
    """The API's version; negative where a peer has sent such a one."""
    version = code & 0xFFFF
    return version - 0x10000 if version & 0x8000 else version
