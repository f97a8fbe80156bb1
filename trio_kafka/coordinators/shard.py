"""One partition of an internal topic that is led here: its machine, and the one who writes to it.

Requests, timers and new metadata are events of the machine; its effects are performed in the order
of the events, see `writer`. While one event works in steps, or the partition is being loaded,
others wait for their turn: a shard is one writer. What has queued up by then may be gathered into
one batch, and so may what comes in one round of a reader. A machine that knows too much, because
what it has replayed is lost, is loaded anew.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from trio_kafka.attributes import define
from trio_kafka.coordinators.effects import Effects, TimerKey
from trio_kafka.coordinators.gathering import ADAPTIVE
from trio_kafka.coordinators.roles import Event, M, ShardLog
from trio_kafka.coordinators.state import REFUSALS, State
from trio_kafka.coordinators.waiting import NOT_YET, Waiting
from trio_kafka.coordinators.writer import Writer
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.purgatory import Timers
from trio_kafka.scheduling.chunked_work import Steps, advance, whole
from trio_kafka.scheduling.deferred_batch import DeferredBatch

_logger: Final = get_logger(__name__)
_QUEUED: Final = 10_000  # events that wait for their turn, of one shard
_AT_ONCE_S: Final = 0.001  # of steps, before a task takes the rest
_ACTIVE: Final = State.ACTIVE  # looked up once: each request asks for it


@define(eq=False)
class _Turn:
    """An event that waits for its turn."""

    event: Event[Any]
    ticket: Waiting


class Shard(Writer[M]):
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
        linger_ms: int = ADAPTIVE,
        rounds: DeferredBatch | None = None,
    ) -> None:
        """work: have `go_on` called, in a task. failed: it must be loaded anew. elapsed: seconds;
        with it the steps of a request are taken at once as long as they are few. linger_ms: how
        long records are gathered; 0: not at all, ADAPTIVE: those of events that have queued up, and
        of those that come in one of these rounds.
        """
        super().__init__(
            name, machine, log, timers, now_ms=now_ms, linger_ms=linger_ms, rounds=rounds
        )
        self._work = work
        self._failed = failed
        self._elapsed = elapsed
        self._moved = False  # there is something to be looked at, by `go_on`
        self._turns: deque[_Turn] = deque()
        self._steps: Steps[None] | None = None
        self._events = 0

    # Requests

    def ask(self, event: Event[M]) -> Waiting:
        """One request's event: its ticket, with the answer where there is one at once, which may be
        an error: what the machine says, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR.

        An event that fails with what is no answer is logged, and the shard is loaded anew.
        """
        ticket = Waiting()
        if self.state is not _ACTIVE:
            ticket.answer = KafkaError(REFUSALS[self.state], self.name)
            return ticket
        if self._steps is None and not self._turns:
            if not self._take(event, ticket) and ticket.answer is NOT_YET:
                ticket.answer = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        elif len(self._turns) < _QUEUED:
            self._turns.append(_Turn(event, ticket))
        else:
            ticket.answer = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "busy")
        if ticket.answer is NOT_YET:
            if self._is_unloaded:  # what this one would have waited for is lost
                ticket.answer = KafkaError(REFUSALS[self.state], self.name)
                return ticket
            self._waiting[ticket] = None
            ticket.soon = self._gathers_queued and self._gathering is not None
            self._go_on_at_once()
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
            if type(effects) is tuple:
                self._perform_sign(effects, ticket, now_ms)
            elif type(effects) is Effects:
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

    def _in_steps(self, steps: Steps[None]) -> None:
        if self._steps is None:
            self._begin(steps)
        else:
            whole(steps)

    def _follow(self, what: Sequence[Callable[[int], Effects]]) -> None:
        for committed in reversed(what):
            self._turns.appendleft(_Turn(_event_of(committed), Waiting()))
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

    def _changed(self) -> None:
        """Whoever changes the log is in the middle of its work: look later."""
        if not self._moved:
            self._moved = True
            self._work(self)

    def go_on(self, elapsed: Callable[[], float], ends: float) -> None:
        """Give the answers that have become due; work on what takes steps, and on what has waited
        for it, until `ends`.
        """
        self._or_fail(lambda: self._work_until(elapsed, ends))

    def _work_until(self, elapsed: Callable[[], float], ends: float) -> None:
        if self._moved:
            self._moved = False
            self._look()
            if self._gathered.is_due:
                self._write_gathered()
        while self._has_turns:
            self._go_on(elapsed, ends)
            if elapsed() >= ends:
                break
        self._end_gathering()

    def _or_fail(self, work: Callable[[], None]) -> None:
        """What goes wrong is logged, and the shard is loaded anew."""
        try:
            work()
        except InvariantError:
            raise
        except Exception:
            _logger.exception("event failed", shard=self.name)
            self.fail()

    def _end_gathering(self) -> None:
        """What has queued up, or come in a round, is written."""
        if self._gathers_queued and self._gathering is not None:
            self._gathering = None
            if self._gathered.is_open:
                self._write_gathered()

    def _end_round(self) -> None:
        self._writers += self._gathered.writers
        self._or_fail(self._end_gathering)

    def _go_on_at_once(self) -> None:
        """With what has just been begun, if nobody else waits: most take few steps."""
        if self._steps is not None and not self._turns and self._elapsed is not None:
            self.go_on(self._elapsed, self._elapsed() + _AT_ONCE_S)

    def _go_on(self, elapsed: Callable[[], float], ends: float) -> None:
        steps = self._steps
        if steps is None:
            turn = self._turns.popleft()
            if self._gathers_queued and self._turns:
                self._gathering = self._gathered
            self._take(turn.event, turn.ticket)
        elif advance(steps, elapsed, ends) is not None and self._steps is steps:
            self._steps = None  # at its end, and not unloaded

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
            if self._is_unloaded:
                return  # it is lost already
            self._wait(read, Effects())
        self._begin(self._first_in_steps())
        self._go_on_at_once()

    def _first_in_steps(self) -> Steps[None]:
        try:
            effects = yield from self.machine.loaded(self._now_ms())
            yield from self._perform_in_steps(effects)
        except InvariantError:
            raise
        except Exception:
            _logger.exception("shard cannot be begun", shard=self.name)
            self.fail()

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
        self._gathered.close()
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
            "turns": len(self._turns),
            "turns_bound": _QUEUED,
            **super().figures(),
        }


def _event_of(committed: Callable[[int], Effects]) -> Event[Any]:
    """What follows when records are committed, as an event that nobody waits for."""
    return lambda _machine, _ticket, now_ms: committed(now_ms)
