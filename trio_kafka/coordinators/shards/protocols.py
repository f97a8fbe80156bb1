"""Interfaces between a shard, its machine and its log; the states of a shard."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.shards.effects import (
    CoordinatorRecord,
    Effects,
    EventResult,
    Origin,
    Ticket,
    TimerKey,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.waits import Wait
from trio_kafka.scheduling.chunked_work import Steps


class ShardState(Enum):
    """Life of a shard. It serves requests in ACTIVE only."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"  # its log cannot be loaded
    UNLOADED = "unloaded"


REFUSALS: Final[Mapping[ShardState, ErrorCode]] = {
    ShardState.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ShardState.FAILED: ErrorCode.NOT_COORDINATOR,
    ShardState.UNLOADED: ErrorCode.NOT_COORDINATOR,
}
"""Error for a request in each state but ACTIVE."""


@frozen
class WaitTimes:
    """Times for the waits that a machine tells of.

    now: `trio.current_time()`. now_ms: wall clock. deadline: when a timer is due, in
    `trio.current_time()`; None: it is not set.
    """

    now: float
    now_ms: int
    deadline: Callable[[TimerKey], float | None]

    def left_s(self, key: TimerKey) -> float | None:
        """Return the time until a timer is due; None: it is not set."""
        deadline = self.deadline(key)
        return None if deadline is None else max(deadline - self.now, 0.0)


class Machine(Protocol):
    """State machine of a shard. Sans-IO: no clock, no tasks."""

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record, read from the log or just written."""

    def replay_transactional(self, producer_id: int, record: CoordinatorRecord) -> None:
        """Apply a record of a transaction that is open until its marker. Reaches only the machine
        of a topic to which producers write.
        """

    def end_transaction(self, producer_id: int, *, committed: bool) -> Steps[None]:
        """Apply the marker that ends a producer's transaction."""

    def loaded(self, now_ms: int) -> Steps[Effects]:
        """First event: all records have been replayed."""

    def timer(self, key: TimerKey, now_ms: int) -> EventResult:
        """A timer is due."""

    def waits(self, key: str, ticket: Ticket, times: WaitTimes) -> tuple[Wait, ...]:
        """Return what a ticket waits for that the machine keeps; empty if it keeps none such.

        key: of the request, such as a group id.
        """


M = TypeVar("M", bound=Machine)
# Event of a request: called with the machine, the ticket to answer and the time in ms. It works in
# steps if it takes longer than 2 ms.
Event: TypeAlias = Callable[[M, Ticket, int], EventResult]
Change: TypeAlias = Callable[[M, int], EventResult]  # event without a request


class OpenBatch(Protocol):
    """Records of several events that become one batch. Its length is the number of records."""

    def __len__(self) -> int: ...

    def add(self, records: Sequence[CoordinatorRecord], now_ms: int) -> bool:
        """Take all of the records, with this timestamp; False: no room, nothing was taken.

        Raises KafkaError: one of them cannot be stored, nothing was taken.
        """

    def append(self, now_ms: int) -> object:
        """Write the batch, once. Return what was written, or None if it is committed already.

        Raises KafkaError: refused, nothing is written.
        """


class ShardLog(Protocol):
    """Log of a shard. `Any` stands for what was written, which only the log understands."""

    @property
    def is_calm(self) -> bool:
        """True if an append is done at once, so that it cannot be refused later in a queue."""

    def append(self, records: Sequence[CoordinatorRecord], now_ms: int) -> object:
        """Write few records as one batch; see `OpenBatch.append`."""

    def append_for(
        self, origin: Origin, records: Sequence[CoordinatorRecord], now_ms: int
    ) -> Steps[object]:
        """Write records in the name of a producer, or its marker, as one batch. Returns as
        `OpenBatch.append`.

        Raises KafkaError: refused, nothing is written; also as `Origin.check`.
        """

    def open(self) -> OpenBatch:
        """Return an empty batch. Raises KafkaError if the log would refuse it now."""

    def encode(
        self, records: Sequence[CoordinatorRecord], now_ms: int, *, atomic: bool
    ) -> Steps[object]:
        """Return the argument of `write`: one batch if `atomic`. Raises KafkaError: refused."""

    def write(self, encoded: Any) -> Steps[Any]:
        """Append encoded records, now or in a queue, one batch a step. Returns as
        `OpenBatch.append`.

        Raises KafkaError: refused, nothing is appended.
        """

    def committed(self, written: Any) -> bool:
        """True if that, and all before it, is committed. Raises KafkaError: it is lost."""

    def waits(self, written: Any, now: float) -> tuple[Wait, ...]:
        """Return what the commit of that waits for. now: `trio.current_time()`."""

    def watch(self, written: Any, changed: Callable[[], None]) -> None:
        """Call `changed` whenever `committed` may have changed, until `unwatch`. One at a time."""

    def unwatch(self) -> None:
        """Stop watching. Idempotent."""
