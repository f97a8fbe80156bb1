"""A batch in the making: records of several events, encoded as they come, written as one.

Encoded at once, because what has no room must be known before it is replayed. Sizes are estimates
from above, without compression: what was taken in fits.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from trio_kafka.coordinators.effects import CoordinatorRecord
from trio_kafka.coordinators.stored import encode_record
from trio_kafka.records.header import HEADER_SIZE

Pair: TypeAlias = tuple[bytes, bytes | None]
LARGEST_VARINTS: Final = 20  # of a record, besides key and value


class EncodedBatch:
    """Implements `OpenBatch`."""

    def __init__(self, room: int, write: "Callable[[EncodedBatch, int], Any]") -> None:
        """room: bytes that the batch may have. write: with the time."""
        self._room = room - HEADER_SIZE
        self._write = write
        self._pairs: list[Pair] = []
        self._times: list[int] = []

    def __len__(self) -> int:
        return len(self._pairs)

    def add(self, records: Sequence[CoordinatorRecord], now_ms: int) -> bool:
        """See `OpenBatch`."""
        pairs, room = [], self._room
        for record in records:
            key, value = pair = encode_record(record)
            room -= len(key) + LARGEST_VARINTS
            if value is not None:
                room -= len(value)
            pairs.append(pair)
        if room < 0:
            return False
        self._room = room
        self._pairs += pairs
        self._times += (now_ms,) * len(pairs)
        return True

    def append(self, now_ms: int) -> Any:
        """See `OpenBatch`."""
        return self._write(self, now_ms)

    @property
    def content(self) -> tuple[list[Pair], int, list[int]]:
        """Keys and values, the time of the first, and how much later each is, in ms."""
        first_ms = self._times[0]
        return self._pairs, first_ms, [time_ms - first_ms for time_ms in self._times]
