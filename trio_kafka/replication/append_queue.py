"""Appends to one partition that wait for their turn, in order and within bounds. Pure.

One that is not written yet has no offset: rules of sequences, times and sizes are those of its
turn. A queue that is empty takes one of any size, or a large batch could never be appended.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.log.append import Appended
from trio_kafka.records.header import BatchHeader
from trio_kafka.replication.record_validation import RecordValidation

MOST_ITEMS: Final = 1024
MOST_BYTES: Final = 32 << 20


@define(eq=False, kw_only=True)
class Queued:
    """One append. result: None until it had its turn.

    records: a copy, once it is in a queue. work: to be done to it before it is written.
    leader_epoch: when it came; a later one means that it was told an error.
    needs_all: enough replicas must be in sync, also at its turn.
    """

    records: memoryview
    headers: Sequence[BatchHeader]
    leader_epoch: int
    needs_all: bool
    since: float
    work: RecordValidation | None = None
    result: Appended | KafkaError | None = None
    size: int = field(init=False)

    @size.default
    def _(self) -> int:
        """Bytes that it counts for: those it came with."""
        return len(self.records)


@define(eq=False)
class AppendQueue:
    """bytes: of all that wait; most_items, most_bytes: high-water marks.

    The first item stays until it is written.
    """

    bytes: int = field(default=0, init=False)
    most_items: int = field(default=0, init=False)
    most_bytes: int = field(default=0, init=False)
    _items: deque[Queued] = field(factory=deque, init=False)

    def __len__(self) -> int:
        return len(self._items)

    @property
    def first(self) -> Queued:
        return self._items[0]

    def has_room(self, size: int) -> bool:
        """Whether an append of so many bytes may join."""
        return not self._items or (
            len(self._items) < MOST_ITEMS and self.bytes + size <= MOST_BYTES
        )

    def push(self, item: Queued) -> None:
        """Join at the end. There must be room."""
        self._items.append(item)
        self.bytes += item.size
        self.most_items = max(self.most_items, len(self._items))
        self.most_bytes = max(self.most_bytes, self.bytes)

    def pop(self, result: Appended | KafkaError) -> int:
        """The first one had its turn; how many bytes have left."""
        item = self._items.popleft()
        item.result = result
        self.bytes -= item.size
        item.records = memoryview(b"")  # whoever waits for followers keeps no bytes
        return item.size
