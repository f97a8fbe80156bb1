"""What follows from the events of a shard, performed in their order.

Records are appended and replayed; answers are given when the log says that these records are
committed, those without records after those before them, so nobody is told what could still be
lost. Where records of several events are gathered into one batch, they are replayed first and
written later. What fails behind its replay leaves a machine that knows too much: `fail`.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic

from trio_kafka.coordinators.alarms import Alarms
from trio_kafka.coordinators.effects import (
    AT_ONCE,
    CoordinatorRecord,
    Effects,
    Sign,
    TimerKey,
    effects_of,
)
from trio_kafka.coordinators.gathering import ADAPTIVE, Gathering, told_of_loss
from trio_kafka.coordinators.roles import M, ShardLog
from trio_kafka.coordinators.state import State
from trio_kafka.coordinators.waiting import Waiting
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.purgatory import Timers
from trio_kafka.scheduling.chunked_work import Steps, in_slices
from trio_kafka.scheduling.deferred_batch import DeferredBatch

_logger: Final = get_logger(__name__)
_FEW: Final = 2  # events of a round that are written one by one


class Writer(ABC, Generic[M]):
    """What a shard does with effects. Its turns are up to the shard."""

    def __init__(
        self,
        name: str,
        machine: M,
        log: ShardLog,
        timers: Timers,
        *,
        now_ms: Callable[[], int],
        linger_ms: int,
        rounds: DeferredBatch | None,
    ) -> None:
        """linger_ms, rounds: see `Shard`."""
        self.name = name
        self.machine = machine
        self.log = log
        self.state = State.LOADING
        self.alarms = Alarms(timers, self._ring)
        self._now_ms = now_ms
        due = self._changed if linger_ms > 0 else None
        self._gathered = Gathering(log, timers, linger_ms / 1000, due)
        self._gathering = None if due is None else self._gathered  # where events go now
        self._gathers_queued = linger_ms == ADAPTIVE
        self._rounds = rounds if rounds and self._gathers_queued else DeferredBatch()
        self._round = 0  # the last one that brought records
        self._writers = self._writers_before = 0  # its events with records; those of the one before
        self._uncommitted: deque[tuple[Any, Effects]] = deque()
        self._waiting: dict[Waiting, None] = {}
        self._records = self._refused = 0

    @property
    def _is_unloaded(self) -> bool:
        """Which any call may have done that asks the log, or a machine."""
        return self.state is State.UNLOADED

    # What shards do

    @abstractmethod
    def fail(self) -> None:
        """What was replayed may be lost: whoever waits is told, and the shard is loaded anew."""

    @abstractmethod
    def _in_steps(self, steps: Steps[None]) -> None:
        """Take them, others waiting; where an event works in steps already, all at once."""

    @abstractmethod
    def _follow(self, what: Sequence[Callable[[int], Effects]]) -> None:
        """Have these called with the time, and performed, before any event that waits."""

    @abstractmethod
    def _changed(self) -> None:
        """The log has changed, or what is gathered is due; whoever says so is in the middle of its
        work: look later.
        """

    @abstractmethod
    def _end_round(self) -> None:
        """Write what was gathered in it."""

    @abstractmethod
    def _ring(self, key: TimerKey) -> None:
        """A timer of the machine is due."""

    # Effects

    def _perform(self, effects: Effects, now_ms: int) -> None:
        """At once, unless there is much to be done: then in steps."""
        records, timers = effects.records, effects.timers
        if len(records) > AT_ONCE or len(effects.answers) > AT_ONCE or len(timers) > AT_ONCE:
            self._in_steps(self._perform_in_steps(effects))
            return
        if timers:
            self.alarms.obey(timers)
        gathering = self._gathering
        if gathering is None and records and self._rounds.calls is not None:
            gathering = self._gathering_of_round(self._rounds)
        if gathering is not None and self._gather(gathering, effects, now_ms):
            return
        written = None
        if records:
            try:
                written = self.log.append(records, now_ms)
            except KafkaError as error:
                self._refuse(effects, error.as_value(), now_ms)
                return
            self._records += len(records)
            if effects.replays:
                replay = self.machine.replay
                for record in records:
                    replay(record)
        if written is None and not self._uncommitted and effects.committed is None:
            self._answer(effects.answers)  # nearly always: nothing more is to be done
        elif not self._waits(written, effects):
            self._settle(effects, now_ms)

    def _perform_sign(self, sign: Sign, ticket: Waiting, now_ms: int) -> None:
        """At once, or in its place behind what is not committed."""
        if self._uncommitted or self._gathering is not None:
            self._perform(effects_of(sign, ticket), now_ms)
            return
        answer, key, delay_ms = sign
        self.alarms.set(key, delay_ms / 1000)
        self._waiting.pop(ticket, None)
        ticket.give(answer)

    def _perform_in_steps(self, effects: Effects) -> Steps[None]:
        for number, timers in enumerate(in_slices(effects.timers, AT_ONCE)):
            if number:
                yield
            self.alarms.obey(timers)
        records, written, gathering = effects.records, None, self._gathering
        if gathering is not None and self._gather(gathering, effects, self._now_ms()):
            return
        if records:
            try:
                written = yield from self._write(records, atomic=effects.atomic)
            except KafkaError as error:
                self._refuse(effects, error.as_value(), self._now_ms())
                return
            self._records += len(records)
            yield  # one record may be large
            if effects.replays:
                for number, record in enumerate(records, 1):
                    self.machine.replay(record)
                    if not number % AT_ONCE:
                        yield
        if not self._waits(written, effects):
            yield from self._settle_in_steps(effects)

    def _gathering_of_round(self, rounds: DeferredBatch) -> Gathering | None:
        """Where the rest of this round goes, once some events with records have come in it, or as
        some came in the round before: for few a batch costs more than it saves. Where appends wait
        for their turn each has its own: one that is refused takes no replayed others with it.
        """
        if self._round != rounds.number:
            self._round, self._writers_before, self._writers = rounds.number, self._writers, 0
        few = self._writers < _FEW and self._writers_before <= _FEW
        if few or not self.log.is_calm:
            self._writers += 1
            return None
        self._gathering = self._gathered
        rounds.defer(self._end_round)
        return self._gathering

    def _gather(self, gathering: Gathering, effects: Effects, now_ms: int) -> bool:
        """Whether they need no more for now. False: they go their own way, and nothing is open."""
        try:
            while not gathering.add(effects, now_ms):
                if not gathering.is_open:
                    return False
                self._write_gathered()
                if self._is_unloaded:
                    return True
        except KafkaError as error:
            self._refuse(effects, error.as_value(), now_ms)
            return True
        self._records += len(effects.records)
        if effects.replays:
            for record in effects.records:
                self.machine.replay(record)
        if gathering.is_full:
            self._write_gathered()
        return True

    def _write_gathered(self) -> None:
        """Write what is open; whoever waits for it is told when it is committed."""
        effects, now_ms = self._gathered.effects, self._now_ms()
        try:
            written = self._gathered.write(now_ms)
        except KafkaError as error:
            self._refused += len(effects)
            _logger.warning("gathered records refused", shard=self.name, reason=str(error))
            told = told_of_loss(effects, error.as_value(), now_ms)
            self._answer(tuple(told.items()))
            self.fail()
            return
        self._tell(one for one in effects if not self._waits(written, one))

    def _write(self, records: Sequence[CoordinatorRecord], *, atomic: bool) -> Steps[Any]:
        if len(records) <= AT_ONCE:
            return self.log.append(records, self._now_ms())
        encoded = yield from self.log.encode(records, self._now_ms(), atomic=atomic)
        return (yield from self.log.write(encoded))

    def _waits(self, written: Any, effects: Effects) -> bool:
        """Whether it is not to be told yet, or never here. written: None: nothing, or what is
        committed; it still comes after those who came before.
        """
        if written is None:
            if self._uncommitted:
                self._uncommitted.append((self._uncommitted[-1][0], effects))
                return True
        elif self._uncommitted or not self._is_committed(written):
            self._wait(written, effects)
            return True
        return self._is_unloaded

    def _wait(self, written: Any, effects: Effects) -> None:
        if not self._is_unloaded:
            self._uncommitted.append((written, effects))
            if len(self._uncommitted) == 1:
                self.log.watch(written, self._changed)

    def _refuse(self, effects: Effects, error: KafkaError, now_ms: int) -> None:
        self._refused += 1
        _logger.warning("records refused", shard=self.name, reason=str(error))
        if effects.refused is not None:
            self._perform(effects.refused(error, now_ms), now_ms)
            return
        self._answer([(ticket, error) for ticket, _ in effects.answers])

    def _settle(self, effects: Effects, now_ms: int) -> None:
        self._answer(effects.answers)
        if effects.committed is not None:
            self._perform(effects.committed(now_ms), now_ms)

    def _settle_in_steps(self, effects: Effects) -> Steps[None]:
        for number, answers in enumerate(in_slices(effects.answers, AT_ONCE)):
            if number:
                yield
            self._answer(answers)
        if effects.committed is not None:
            more = effects.committed(self._now_ms())
            yield
            yield from self._perform_in_steps(more)

    def _tell(self, committed: Iterable[Effects]) -> None:
        """Each before the next is looked at: then it may be too late. What follows is an event of
        its own, the next one: another may be half done.
        """
        follow = []
        for effects in committed:
            self._answer(effects.answers)
            if effects.committed is not None:
                follow.append(effects.committed)
        if follow and not self._is_unloaded:
            self._follow(follow)

    def _answer(self, answers: Sequence[tuple[Any, Any]]) -> None:
        """The tickets of a shard are `Waiting`s."""
        for ticket, value in answers:
            self._waiting.pop(ticket, None)
            ticket.give(value)

    # Commits

    def _is_committed(self, written: Any) -> bool:
        try:
            return self.log.committed(written)
        except KafkaError as error:
            _logger.warning("records lost", shard=self.name, reason=str(error))
            self.fail()
            return False

    def _look(self) -> None:
        """The log has moved: whoever it was enough for has an answer."""
        before = len(self._uncommitted)
        self._tell(self._due())
        if not self._uncommitted:
            self.log.unwatch()
        elif len(self._uncommitted) != before:
            self.log.watch(self._uncommitted[0][0], self._changed)

    def _due(self) -> Iterator[Effects]:
        while self._uncommitted and self._is_committed(self._uncommitted[0][0]):
            yield self._uncommitted.popleft()[1]

    def figures(self) -> Figures:
        """For the tree."""
        return {
            "records": self._records,
            "refused": self._refused,
            **self._gathered.figures(),
            "uncommitted": len(self._uncommitted),
            "waiting": len(self._waiting),
            "timers": len(self.alarms),
        }
