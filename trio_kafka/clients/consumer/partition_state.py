"""State of one partition of a consumer: its position, and what is buffered. Does no I/O."""

from collections import deque
from enum import Enum

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.fetched import FetchedData
from trio_kafka.clients.consumer.values import Position
from trio_kafka.model import TopicPartition


class Phase(Enum):
    """State of a partition: what it waits for."""

    COMMITTED = "committed offset"
    RESET = "reset"
    VALIDATE = "validation"
    FETCH = "fetch"


@define(eq=False)
class PartitionState:
    """State of one assigned partition.

    reset_timestamp: for ListOffsets; None: that of `auto.offset.reset`.
    lost: position that was out of range. leader_epoch: at which the position was last validated.
    replica: node to fetch from until the time `replica_until`, if not the leader (KIP-392).
    not_before: of the next offset request.
    revoking: nothing is read any more. shed: its buffer was dropped to make room for others; it is
    not fetched before its reader asks for it.
    """

    at: TopicPartition
    phase: Phase = Phase.COMMITTED
    position: Position | None = None
    fetch_from: Position | None = None
    reset_timestamp: int | None = None
    lost: Position | None = None
    version: int = 0
    leader_epoch: int = -1
    paused: bool = False
    revoking: bool = False
    shed: bool = False
    replica: int | None = None
    replica_until: float = float("-inf")
    high_watermark: int | None = None
    last_stable: int | None = None
    log_start: int | None = None
    not_before: float = float("-inf")
    failures: int = 0
    buffer: deque[FetchedData] = field(factory=deque)
    buffered: int = 0

    @property
    def is_fetchable(self) -> bool:
        return self.phase is Phase.FETCH and not self.paused and not self.revoking

    def drop_buffer(self) -> None:
        """Forget what is buffered; it is fetched again."""
        self.buffer.clear()
        self.buffered = 0
        self.fetch_from = self.position

    def move(self, phase: Phase, position: Position | None) -> None:
        """Go to another position or phase; responses in flight are discarded."""
        self.version += 1
        self.phase = phase
        self.position = position
        self.drop_buffer()

    def add(self, data: FetchedData) -> None:
        """Buffer what was fetched from `fetch_from`."""
        self.buffer.append(data)
        self.buffered += data.size
        self.fetch_from = data.end

    def front(self) -> FetchedData | None:
        """Return the buffered data to read next; exhausted data leave, and move the position."""
        while self.buffer:
            data = self.buffer[0]
            if not data.is_exhausted:
                return data
            self.buffer.popleft()
            self.buffered -= data.size
            self.position = data.read_to
        return None
