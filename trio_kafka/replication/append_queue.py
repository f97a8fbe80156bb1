"""Queue of pending appends to one partition, in order and bounded. Pure.

A queued append has no offset yet: sequences, times and sizes are checked when its turn comes. An
    empty queue accepts an append of any size, so that a large batch can be appended at all.
"""

from collections import deque
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.log.append import Appended
from trio_kafka.log.transaction_checks import AppendCheck
from trio_kafka.records.header import BatchHeader
from trio_kafka.replication.record_validation import RecordValidation

MOST_ITEMS: Final = 1024
MOST_BYTES: Final = 32 << 20


@define(eq=False, kw_only=True)
class Queued:
    """One queued append. result: None until its turn.

    batch: a copy. work: to be done to it before it is written.
    leader_epoch: that of its arrival. If it changes, the client has got an error meanwhile.
    needs_all: enough replicas must be in sync, also at its turn.
    check: see `append_as_leader`; made at its turn.
    """

    batch: memoryview
    header: BatchHeader
    leader_epoch: int
    needs_all: bool
    since: float
    work: RecordValidation | None = None
    check: AppendCheck | None = None
    result: Appended | KafkaError | None = None
    size: int = field(init=False)

    @size.default
    def _(self) -> int:
        """Return the bytes that count for the bound: those of its arrival."""
        return len(self.batch)


@define(eq=False)
class AppendQueue:
    """Queued appends. bytes: of all of them. most_items, most_bytes: high-water marks.

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
        """Return whether an append of so many bytes may join."""
        return not self._items or (
            len(self._items) < MOST_ITEMS and self.bytes + size <= MOST_BYTES
        )

    def push(self, item: Queued) -> None:
        """Add an append. There must be room."""
        self._items.append(item)
        self.bytes += item.size
        self.most_items = max(self.most_items, len(self._items))
        self.most_bytes = max(self.most_bytes, self.bytes)

    def pop(self, result: Appended | KafkaError) -> int:
        """Complete the first append. Return the bytes that it counted for."""
        item = self._items.popleft()
        item.result = result
        self.bytes -= item.size
        item.batch = memoryview(b"")  # not needed while it waits for followers
        return item.size
