"""One partition of an internal topic that is led here: its machine, and the one who writes to it.

Requests, timers and new metadata are events of the machine; its effects are performed in the order
of the events. While one event works in steps, or the partition is being loaded, others wait for
their turn: a shard is one writer. Records are appended, replayed, and answers are given when the
log says that they are committed; an answer without records waits for those before it, so nobody is
told what could still be lost. What is written but then fails leaves a machine that knows too much:
the shard is loaded anew.
"""

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, Generic

from attrs import define

from trio_kafka.coordinators.alarms import Alarms
from trio_kafka.coordinators.effects import CoordinatorRecord, Effects, TimerKey
from trio_kafka.coordinators.roles import Event, M, ShardLog
from trio_kafka.coordinators.waiting import NOT_YET, Waiting
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.purgatory import Timers
from trio_kafka.steps import Steps, advance, in_slices, whole

_logger: Final = get_logger(__name__)
_QUEUED: Final = 10_000  # events that wait for their turn, of one shard
_AT_ONCE: Final = 100  # records of one event that are written and replayed in one go: 2 ms
_AT_ONCE_S: Final = 0.001  # of steps, before a task takes the rest


class State(Enum):
    """What a shard is at; others than ACTIVE have their error."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"  # it cannot be loaded
    UNLOADED = "unloaded"


_ACTIVE: Final = State.ACTIVE  # looked up once: each request asks for it
_REFUSALS: Final = {
    State.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    State.FAILED: ErrorCode.NOT_COORDINATOR,
    State.UNLOADED: ErrorCode.NOT_COORDINATOR,
}


@define(eq=False)
class _Turn:
    """An event that waits for its turn."""

    event: Event[Any]
    ticket: Waiting


class Shard(Generic[M]):
    """One writer. `state` tells what it is at."""

    def __init__(
        self,
        name: str,
        machine: M,
        log: ShardLog,
        timers: Timers,
        *,
        now_ms: Callable[[], int],
        work: "Callable[[Shard[M]], None]",
        failed: "Callable[[Shard[M]], None]",
        elapsed: Callable[[], float] | None = None,
    ) -> None:
        """work: have `go_on` called, in a task. failed: it must be loaded anew. elapsed: seconds;
        with it the steps of a request are taken at once as long as they are few.
        """
        self.name = name
        self.machine = machine
        self.log = log
        self.state = State.LOADING
        self._now_ms = now_ms
        self._work = work
        self._failed = failed
        self._elapsed = elapsed
        self._moved = False  # the log has changed since `go_on` looked
        self._uncommitted: deque[tuple[Any, Effects]] = deque()
        self._waiting: dict[Waiting, None] = {}
        self.alarms = Alarms(timers, self._ring)
        self._turns: deque[_Turn] = deque()
        self._steps: Steps[None] | None = None
        self._events = self._records = self._refused = 0

    # Requests

    def ask(self, event: Event[M]) -> Waiting:
        """One request's event: its ticket, with the answer where there is one at once, which may be
        an error: what the machine says, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR.

        An event that fails with what is no answer is logged, and the shard is loaded anew.
        """
        ticket = Waiting()
        if self.state is not _ACTIVE:
            ticket.answer = KafkaError(_REFUSALS[self.state], self.name)
            return ticket
        if self._steps is None and not self._turns:
            if not self._take(event, ticket) and ticket.answer is NOT_YET:
                ticket.answer = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        elif len(self._turns) < _QUEUED:
            self._turns.append(_Turn(event, ticket))
        else:
            ticket.answer = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "busy")
        if ticket.answer is NOT_YET:
            self._waiting[ticket] = None
            if self._steps is not None and not self._turns and self._elapsed is not None:
                self.go_on(self._elapsed, self._elapsed() + _AT_ONCE_S)
        return ticket

    def apply(self, change: Callable[[M, int], Effects | Steps[Effects]]) -> None:
        """An event that nobody waits for: new metadata, a timer. One that fails is logged, and the
        shard is loaded anew.
        """
        if self.state is State.ACTIVE:
            # However many wait: a timer or an image that got lost would never come again.
            turn = _Turn(lambda machine, _ticket, now_ms: change(machine, now_ms), Waiting())
            if self._has_turns:
                self._turns.append(turn)
            else:
                self._take(turn.event, turn.ticket)

    # Turns

    @property
    def _has_turns(self) -> bool:
        """What comes now is not next."""
        return self._steps is not None or bool(self._turns)

    def _take(self, event: Event[M], ticket: Waiting) -> bool:
        """Whether it went well. A failure is logged, and the shard is loaded anew."""
        self._events += 1
        now_ms = self._now_ms()
        try:
            try:
                effects = event(self.machine, ticket, now_ms)
            except KafkaError as error:
                effects = Effects(answers=[(ticket, error.as_value())])
            if type(effects) is Effects:
                self._perform(effects, now_ms)
            else:
                self._begin(self._event_in_steps(effects, ticket))  # type: ignore[arg-type]
        except InvariantError:
            raise
        except Exception:
            _logger.exception("event failed", shard=self.name)
            self.fail()
            return False
        return True

    def _begin(self, steps: Steps[None]) -> None:
        """Others wait for their turn until these have come to their end."""
        self._steps = steps
        self._work(self)

    def _event_in_steps(self, steps: Steps[Effects], ticket: Waiting) -> Steps[None]:
        try:
            effects = yield from steps
        except KafkaError as error:
            effects = Effects(answers=[(ticket, error.as_value())])
        yield from self._perform_in_steps(effects)

    @property
    def busy(self) -> bool:
        """`go_on` has something to do."""
        return self._moved or self._has_turns

    def go_on(self, elapsed: Callable[[], float], ends: float) -> None:
        """Give the answers that have become due; work on what takes steps, and on what has waited
        for it, until `ends`.
        """
        try:
            if self._moved:
                self._moved = False
                self._look()
            while self._has_turns:
                self._go_on(elapsed, ends)
                if elapsed() >= ends:
                    return
        except InvariantError:
            raise
        except Exception:
            _logger.exception("event failed", shard=self.name)
            self.fail()

    def _go_on(self, elapsed: Callable[[], float], ends: float) -> None:
        steps = self._steps
        if steps is None:
            turn = self._turns.popleft()
            self._take(turn.event, turn.ticket)
        elif advance(steps, elapsed, ends) is not None and self._steps is steps:
            self._steps = None  # at its end, and not unloaded

    # Effects

    def _perform(self, effects: Effects, now_ms: int) -> None:
        """At once, unless there is much to be done: then in steps."""
        records, timers = effects.records, effects.timers
        if len(records) > _AT_ONCE or len(effects.answers) > _AT_ONCE or len(timers) > _AT_ONCE:
            steps = self._perform_in_steps(effects)
            if self._steps is None:
                self._begin(steps)
            else:
                whole(steps)
            return
        if timers:
            self.alarms.obey(timers)
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

    def _perform_in_steps(self, effects: Effects) -> Steps[None]:
        for number, timers in enumerate(in_slices(effects.timers, _AT_ONCE)):
            if number:
                yield
            self.alarms.obey(timers)
        records, written = effects.records, None
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
                    if not number % _AT_ONCE:
                        yield
        if not self._waits(written, effects):
            yield from self._settle_in_steps(effects)

    def _write(self, records: Sequence[CoordinatorRecord], *, atomic: bool) -> Steps[Any]:
        if len(records) <= _AT_ONCE:
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
        return self.state is State.UNLOADED

    def _wait(self, written: Any, effects: Effects) -> None:
        if self.state is not State.UNLOADED:
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
        for number, answers in enumerate(in_slices(effects.answers, _AT_ONCE)):
            if number:
                yield
            self._answer(answers)
        if effects.committed is not None:
            more = effects.committed(self._now_ms())
            yield
            yield from self._perform_in_steps(more)

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

    def _changed(self) -> None:
        """Whoever changes the log is in the middle of its work: look later."""
        if not self._moved:
            self._moved = True
            self._work(self)

    def _look(self) -> None:
        """The log has moved: whoever it was enough for has an answer."""
        before = len(self._uncommitted)
        while self._uncommitted and self._is_committed(self._uncommitted[0][0]):
            self._settle(self._uncommitted.popleft()[1], self._now_ms())
        if not self._uncommitted:
            self.log.unwatch()
        elif len(self._uncommitted) != before:
            self.log.watch(self._uncommitted[0][0], self._changed)

    def _ring(self, key: TimerKey) -> None:
        """A timer of the machine is due."""
        self.apply(
            lambda machine, now_ms: (
                machine.timer(key, now_ms) if self.alarms.take(key) else Effects()
            )
        )

    # Life

    def activate(self, read: Any = None) -> None:
        """All that is stored has been replayed: serve. read: what was replayed last; nobody is
        told anything before that is committed.
        """
        self.state = State.ACTIVE
        if read is not None and not self._is_committed(read):
            self._wait(read, Effects())
        try:
            now_ms = self._now_ms()
            self._perform(self.machine.loaded(now_ms), now_ms)
        except InvariantError:
            raise
        except Exception:  # to load it anew would end here again
            _logger.exception("shard cannot be begun", shard=self.name)
            self.unload()
            whole(self.dismiss())
            self.state = State.FAILED

    def fail(self) -> None:
        """What was replayed may be lost: the shard is loaded anew."""
        if self.state is State.ACTIVE:
            self.unload()
            self._failed(self)

    def unload(self) -> None:
        """It is led elsewhere, or no more: nothing of it is performed or told any more, but what
        `dismiss` tells. Idempotent.
        """
        self.state = State.UNLOADED
        self.log.unwatch()
        self._uncommitted.clear()
        self._turns.clear()
        self._steps, self._moved = None, False

    def dismiss(self) -> Steps[None]:
        """Once it is unloaded: leave no timer, and tell whoever waits NOT_COORDINATOR."""
        yield from self.alarms.clear()
        waiting, self._waiting = self._waiting, {}
        for ticket in waiting:
            ticket.give(KafkaError(ErrorCode.NOT_COORDINATOR, self.name))
            yield

    def figures(self) -> Figures:
        """For the tree."""
        return {
            "state": self.state.value,
            "events": self._events,
            "records": self._records,
            "refused": self._refused,
            "uncommitted": len(self._uncommitted),
            "turns": len(self._turns),
            "turns_bound": _QUEUED,
            "waiting": len(self._waiting),
            "timers": len(self.alarms),
        }
