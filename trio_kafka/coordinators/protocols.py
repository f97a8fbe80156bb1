"""What a shard runs, and what it writes to: interfaces, each tested without the other."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from trio_kafka.coordinators.effects import CoordinatorRecord, Effects, Sign, Ticket, TimerKey
from trio_kafka.errors import ErrorCode
from trio_kafka.scheduling.chunked_work import Steps


class ShardState(Enum):
    """What a shard is at; others than ACTIVE have their error."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"  # it cannot be loaded
    UNLOADED = "unloaded"


REFUSALS: Final[Mapping[ShardState, ErrorCode]] = {
    ShardState.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ShardState.FAILED: ErrorCode.NOT_COORDINATOR,
    ShardState.UNLOADED: ErrorCode.NOT_COORDINATOR,
}


class Machine(Protocol):
    """What a shard runs. Sans-IO."""

    def replay(self, record: CoordinatorRecord) -> None: ...

    def loaded(self, now_ms: int) -> Steps[Effects]: ...

    def timer(self, key: TimerKey, now_ms: int) -> Effects | Steps[Effects]: ...


M = TypeVar("M", bound=Machine)
Event: TypeAlias = Callable[[M, Ticket, int], Effects | Sign | Steps[Effects]]


class OpenBatch(Protocol):
    """Records of several events that will be one batch; its length is how many."""

    def __len__(self) -> int: ...

    def add(self, records: Sequence[CoordinatorRecord], now_ms: int) -> bool:
        """Take in all of them, of this time; False: they have no room, and nothing was taken in."""

    def append(self, now_ms: int) -> Any:
        """Write it, once; as `ShardLog.append`."""


class ShardLog(Protocol):
    """Where a shard's records go. `Any` is what was written: the log knows what it is."""

    @property
    def is_calm(self) -> bool:
        """What is written now does not wait for its turn, in which it might be refused."""

    def append(self, records: Sequence[CoordinatorRecord], now_ms: int) -> Any:
        """Write few records now, as one batch: what was written, or None where that is committed
        already. Raises KafkaError: refused.
        """

    def open(self) -> OpenBatch:
        """A batch to gather records in. Raises KafkaError: as things are it would be refused."""

    def encode(
        self, records: Sequence[CoordinatorRecord], now_ms: int, *, atomic: bool
    ) -> Steps[Any]:
        """What `write` takes: one batch where they are `atomic`. Raises KafkaError: refused."""

    def write(self, encoded: Any) -> Steps[Any]:
        """Append it, now or in its turn; in steps of a batch. Raises KafkaError: refused, nothing
        is appended.
        """

    def committed(self, written: Any) -> bool:
        """Whether that, and all before it, is. Raises KafkaError where it will never be."""

    def watch(self, written: Any, changed: Callable[[], None]) -> None:
        """Call `changed` whenever `committed` may say something new, until `unwatch`: it only notes
        it. One at a time.
        """

    def unwatch(self) -> None:
        """Call it no more. Idempotent."""
