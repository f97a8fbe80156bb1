"""A shard on a log in memory, with a machine that keeps words."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio

from trio_kafka.coordinators.shards.batch_accumulator import ADAPTIVE, Batching
from trio_kafka.coordinators.shards.effects import (
    AT_ONCE,
    CoordinatorRecord,
    Effects,
    Origin,
    Ticket,
    TimerKey,
)
from trio_kafka.coordinators.shards.pending_reply import NOT_YET, value_or_raise, wait_for_answers
from trio_kafka.coordinators.shards.protocols import Event, WaitTimes
from trio_kafka.coordinators.shards.shard import Shard
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.introspect.waits import Wait
from trio_kafka.pending import then
from trio_kafka.purgatory import Purgatory, Timers
from trio_kafka.scheduling.chunked_work import Steps, whole
from trio_kafka.scheduling.deferred_batch import DeferredBatch

REFUSED = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "not enough replicas")


class Words:
    """A machine that keeps words in the order in which they were written."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.pending: dict[int, list[str]] = {}  # words of open transactions, by producer id
        self.due: list[tuple[TimerKey, int]] = []
        self.begin: Callable[[int], Effects] = lambda _now_ms: Effects()  # when all is replayed

    def replay(self, record: CoordinatorRecord) -> None:
        self.words.append(record.key)

    def replay_transactional(self, producer_id: int, record: CoordinatorRecord) -> None:
        self.pending.setdefault(producer_id, []).append(record.key)

    def end_transaction(self, producer_id: int, *, committed: bool) -> Steps[None]:
        words = self.pending.pop(producer_id, [])
        for number, word in enumerate(words if committed else [], 1):
            self.words.append(word)
            if not number % AT_ONCE:
                yield

    def loaded(self, now_ms: int) -> Steps[Effects]:
        yield
        return self.begin(now_ms)

    def timer(self, key: TimerKey, now_ms: int) -> Effects:
        self.due.append((key, now_ms))
        return Effects()

    def waits(self, key: str, ticket: Ticket, times: WaitTimes) -> tuple[Wait, ...]:
        return ()


class KeptLog:
    """Records in memory; `end` of the committed ones moves when told."""

    def __init__(self) -> None:
        self.records: list[CoordinatorRecord] = []
        self.end = 1 << 60
        self.knows = True  # at once, that records are committed
        self.error: KafkaError | None = None
        self.lost: KafkaError | None = None
        self.changed: Callable[[], None] | None = None
        self.watched: int | None = None
        self.atomic: list[bool] = []
        self.origins: list[Origin] = []
        self.batches: list[list[Any]] = []  # keys, by batch
        self.times_ms: list[int] = []  # of appends of few records
        self.room = 1 << 60  # records that a batch may have
        self.closed: KafkaError | None = None  # why no batch can be opened
        self.is_calm = True

    def open(self) -> "KeptBatch":
        if self.closed is not None:
            raise self.closed
        return KeptBatch(self)

    def append(self, records: Sequence[CoordinatorRecord], now_ms: int) -> int | None:
        self.times_ms.append(now_ms)
        written = whole(self.write(list(records)))
        is_committed = self.knows and self.lost is None
        return None if is_committed and written <= self.end else written

    def append_for(
        self, origin: Origin, records: Sequence[CoordinatorRecord], now_ms: int
    ) -> Steps[int | None]:
        for _ in range(len(records) // 100):
            yield
        self.origins.append(origin)
        return self.append(records or [CoordinatorRecord("marker")], now_ms)

    def encode(
        self, records: Sequence[CoordinatorRecord], now_ms: int, *, atomic: bool
    ) -> Steps[list[CoordinatorRecord]]:
        self.atomic.append(atomic)
        for _ in range(len(records) // 100):
            yield
        return list(records)

    def write(self, encoded: list[CoordinatorRecord]) -> Steps[int]:
        if self.error is not None:
            raise self.error
        yield from ()
        self.records += encoded
        self.batches.append([record.key for record in encoded])
        return len(self.records)

    def committed(self, written: int) -> bool:
        if self.lost is not None:
            raise self.lost
        return written <= self.end

    def waits(self, written: int, now: float) -> tuple[Wait, ...]:
        return ()

    def watch(self, written: int, changed: Callable[[], None]) -> None:
        self.changed, self.watched = changed, written

    def unwatch(self) -> None:
        self.changed = None


class KeptBatch:
    """Records gathered for a `KeptLog`."""

    def __init__(self, log: KeptLog) -> None:
        self._log = log
        self._records: list[CoordinatorRecord] = []

    def __len__(self) -> int:
        return len(self._records)

    def add(self, records: Sequence[CoordinatorRecord], now_ms: int) -> bool:
        if len(self._records) + len(records) > self._log.room:
            return False
        self._records += records
        return True

    def append(self, now_ms: int) -> int | None:
        return self._log.append(self._records, now_ms)


def far_on() -> float:
    """Time so far on that no budget has any length: each slice is one step."""
    return 1e18


class KitClock:
    """Trio's time of day, and `elapsed`."""

    waits = None

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self.elapsed = elapsed
        self.wall = trio.current_time


class Stage:
    """An active shard, and all that it needs."""

    def __init__(self, elapsed: Callable[[], float] = far_on, *, linger_ms: int = ADAPTIVE) -> None:
        node = Node("test", "broker")
        self.timers = Timers(node)
        self.purgatory = Purgatory("commit", self.timers, node)
        self.log = KeptLog()
        self.machine = Words()
        self.works: list[Shard[Words]] = []
        self.failures: list[Shard[Words]] = []
        self.answers: list[Any] = []
        self.rounds = DeferredBatch()
        self.shard = Shard(
            "words-0",
            self.machine,
            self.log,
            timers=self.timers,
            clock=KitClock(elapsed),
            schedule=self.works.append,
            failed=self._failed,
            batching=Batching(linger_ms, self.rounds),
        )

    def activate(self, read: int | None = None) -> None:
        """Once all is replayed, `read` last, until it serves."""
        self.shard.activate(read)
        drain(self)
        self.works.clear()

    def unload(self) -> None:
        """As whoever holds the shards does."""
        self.shard.unload()
        whole(self.shard.dismiss())

    def _failed(self, shard: Shard[Words]) -> None:
        self.failures.append(shard)
        whole(shard.dismiss())

    def commit(self, end: int) -> None:
        """The replicas have all below `end`."""
        self.log.end = end
        if self.log.changed is not None:
            self.log.changed()
        drain(self)

    def submit(self, event: Event[Words], timeout_s: float = 5.0) -> Any:
        """Return the answer; a delayed one is added to `answers` in the end."""
        ticket = self.shard.ask(event)
        if ticket.answer is not NOT_YET:
            return value_or_raise(ticket.answer)
        answers = wait_for_answers([ticket], self.purgatory, timeout_s)
        pending = then(answers, lambda replies: value_or_raise(replies[0]))
        self.purgatory.watch(pending, self.purgatory.check, self.answers.append)
        return pending


def write(word: str) -> Event[Words]:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects(records=[CoordinatorRecord(word)], answers=[(ticket, word)])

    return event


def read(machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
    return Effects(answers=[(ticket, list(machine.words))])


def staged(linger_ms: int) -> Stage:
    stage = Stage(linger_ms=linger_ms)
    stage.activate()
    return stage


@asynccontextmanager
async def lingering(linger_ms: int = 5) -> AsyncIterator[Stage]:
    """A shard whose timers run and whose work is done, with an open batch after `linger_ms`."""
    stage = staged(linger_ms)

    async def work() -> None:
        while True:
            await trio.sleep(0.0001)
            drain(stage)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.timers.run)
        nursery.start_soon(work)
        yield stage
        nursery.cancel_scope.cancel()


def end_round(stage: Stage) -> None:
    """Of a reader that has its turn, and has it no more, as a processor does."""
    stage.rounds.end(None)


def drain(stage: Stage, ends: float = 0.0) -> None:
    """ends: 0.0: a turn in each slice."""
    while stage.shard.busy:
        stage.shard.go_on(ends)


def slowly(_machine: Words, ticket: Ticket, _now_ms: int) -> Steps[Effects]:
    yield
    yield
    return Effects(records=[CoordinatorRecord("slow")], answers=[(ticket, "slow")])


def many(number: int, *, atomic: bool = True) -> Event[Words]:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        records = [CoordinatorRecord(f"w{n}") for n in range(number)]
        return Effects(records=records, answers=[(ticket, "many")], atomic=atomic)

    return event
