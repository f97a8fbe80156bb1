"""Batch in the making: records of several events, encoded when they are added, written as one.

Records are encoded at once because an event without room must be known before it is replayed. Sizes
are upper estimates without compression, so everything that was added fits.
"""

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.records.batch import BatchBody
from trio_kafka.records.header import HEADER_SIZE

LARGEST_VARINTS: Final = 20  # of a record, besides key and value
W = TypeVar("W")


class EncodedBatch(Generic[W]):
    """Implements `OpenBatch`."""

    def __init__(
        self,
        room: int,
        encode: Callable[[CoordinatorRecord], tuple[bytes, bytes | None]],
        write: Callable[[BatchBody, int], W | None],
    ) -> None:
        """room: largest size of the batch in bytes. encode: the topic's codec. write: called with
        the records and the time.
        """
        self._room = room - HEADER_SIZE
        self._encode = encode
        self._write = write
        self._body = BatchBody()

    def __len__(self) -> int:
        return self._body.count

    def add(self, records: Sequence[CoordinatorRecord], now_ms: int) -> bool:
        """See `OpenBatch`."""
        pairs, room = [], self._room
        for record in records:
            key, value = self._encode(record)
            room -= len(key) + LARGEST_VARINTS
            if value is not None:
                room -= len(value)
            pairs.append((key, value))
        if room < 0:
            return False
        self._room = room
        for key, value in pairs:
            self._body.add_pair(key, value, now_ms)
        return True

    def append(self, now_ms: int) -> W | None:
        """See `OpenBatch`."""
        return self._write(self._body, now_ms)
