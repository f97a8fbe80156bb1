"""Values that a consumer gives to its user, or takes from its user."""

from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from trio_kafka.attributes import define, frozen
from trio_kafka.records.batch import Headers

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
Deserializer: TypeAlias = Callable[[str, bytes | None], T]
"""Returns a key or a value from the topic and the bytes, or None for null."""


@define
class ConsumerRecord(Generic[K, V]):
    """One record. timestamp_ms: -1: none. leader_epoch: of its batch. Made by position: millions.

    headers: a tuple of names and values.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: K
    value: V
    headers: Headers = ()
    leader_epoch: int = -1


@frozen
class Position:
    """Offset of the next record. epoch: of the batch before it; -1: not known."""

    offset: int
    epoch: int = -1


@frozen
class OffsetAndMetadata:
    """Offset to commit, or as committed: of the next record to process.

    leader_epoch: of the record before; -1: not known. metadata: a text of the user.
    """

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


@frozen
class OffsetAndTimestamp:
    """First record at or after a time: its offset, its timestamp, the epoch of its batch."""

    offset: int
    timestamp_ms: int
    leader_epoch: int = -1


def as_bytes(topic: str, data: bytes | None) -> bytes | None:
    """Return bytes as they are: the deserializer of consumers that are told none."""
    del topic
    return data
