"""Shard: the state machine of one partition of an internal topic, and its single writer.

Requests, timers and new metadata are events of the machine. Every event takes one path:

    event → effects → batch accumulator → append → commit → replies

An event is taken in the call that brings it, unless another one works in steps: then it waits in a
queue. Records of a batch that stays open for further events are replayed when they are added, so
that the next event sees them; otherwise they are replayed when they are appended. Replies wait in
the commit queue behind all records that they may have seen. Timers, commits and the end of a linger
only have `go_on` called. A shard whose replayed records are lost is unloaded and loaded again.
docs/design/coordinators.md has the states.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, Generic, TypeAlias

from trio_kafka.coordinators.shards.batch_accumulator import (
    ADAPTIVE,
    BatchAccumulator,
    Batching,
    loss_replies,
)
from trio_kafka.coordinators.shards.commit_queue import CommitQueue
from trio_kafka.coordinators.shards.effects import (
    AT_ONCE,
    Effects,
    EventResult,
    Origin,
    Ticket,
    TimerKey,
)
from trio_kafka.coordinators.shards.keyed_timers import KeyedTimers
from trio_kafka.coordinators.shards.pending_reply import NOT_YET, PendingReply
from trio_kafka.coordinators.shards.protocols import (
    REFUSALS,
    Change,
    Event,
    M,
    ShardLog,
    ShardState,
    WaitTimes,
)
from trio_kafka.coordinators.shards.reply_waits import (
    commit_waits,
    open_batch_wait,
    slice_wait,
    turn_wait,
)
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.introspect.waits import Wait
from trio_kafka.purgatory import Timers
from trio_kafka.scheduling.chunked_work import Steps, advance, in_slices, whole
from trio_kafka.world.protocols import Clock

FollowUp: TypeAlias = Callable[[int], Effects]  # called with the time, when a batch's fate is known
_logger: Final = get_logger(__name__)
_QUEUED: Final = 10_000  # events that wait for their turn
_AT_ONCE_S: Final = 0.001  # steps of a request that are taken before a task takes the rest
_ACTIVE: Final = ShardState.ACTIVE  # bound once: each request asks for it


class Shard(Generic[M]):
    """The shard of one partition. machine: changed only by its events and by replay."""

    def __init__(
        self,
        name: str,
        machine: M,
        log: ShardLog,
        *,
        timers: Timers,
        clock: Clock,
        schedule: "Callable[[Shard[M]], None]",
        failed: "Callable[[Shard[M]], None]",
        batching: Batching,
    ) -> None:
        """schedule: have `go_on` called in a task. failed: the shard must be loaded again."""
        self.name = name
        self.machine = machine
        self.log = log
        self.state = ShardState.LOADING
        self.keyed_timers = KeyedTimers(timers, self._timer_due)
        self._wall, self._elapsed = clock.wall, clock.elapsed
        self._schedule = schedule
        self._failed = failed
        self._batching = batching
        self._accumulator = BatchAccumulator(
            log, timers, linger_ms=batching.linger_ms, due=self._wake
        )
        self._commits = CommitQueue(log, self._wake)
        self._is_woken = False  # the log has changed, or the batch is due
        self._round = 0  # the last round that brought records
        self._is_in_round = False  # the open batch is written at the end of the round
        self._turns: deque[tuple[Event[M], PendingReply]] = deque()
        self._follow_ups: deque[FollowUp] = deque()  # come before the turns
        self._steps: Steps[None] | None = None  # of the current event
        self._waiting: dict[PendingReply, None] = {}
        self._taken = self._records = self._refused = 0  # events, records, refused events

    # Events

    def ask(self, event: Event[M]) -> PendingReply:
        """Take the event of a request. The reply has its answer at once if nothing must be awaited.

        Errors are answers: what the machine raises, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR,
        COORDINATOR_NOT_AVAILABLE for a full queue, UNKNOWN_SERVER_ERROR for a bug in the event.
        """
        reply = PendingReply()
        if self.state is not _ACTIVE:
            reply.answer = KafkaError(REFUSALS[self.state], self.name)
            return reply
        if self._steps is None and not self._turns and not self._follow_ups:
            if self._take(event, reply):
                self.go_on(self._elapsed() + _AT_ONCE_S)
        elif len(self._turns) < _QUEUED:
            self._turns.append((event, reply))
        else:
            reply.answer = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "busy")
            return reply
        if reply.answer is NOT_YET:
            self._keep(reply)
        return reply

    def _keep(self, reply: PendingReply) -> None:
        """Keep a reply until its answer comes; refuse it if its event has ended the shard, with
        everything that the reply would wait for.
        """
        if self.state is not _ACTIVE:
            reply.answer = KafkaError(REFUSALS[self.state], self.name)
            return
        self._waiting[reply] = None
        reply.soon = self._is_in_round

    def waits(self, key: str, reply: PendingReply, now: float) -> tuple[Wait, ...]:
        """Return what a pending reply waits for. key: of its request. now: `trio.current_time()`.

        What the machine keeps it for, and the commit that this needs if it needs one.
        """
        name = self.name
        times = WaitTimes(now, self._now_ms(), self.keyed_timers.deadline)
        kept = self.machine.waits(key, reply, times)
        if kept:
            needs_commit = kept[-1].cause == "change"
            return (*kept, *(commit_waits(name, self._commits, self.log, now) * needs_commit))
        return (
            turn_wait(name, self._turns, reply)
            or open_batch_wait(name, self._accumulator.effects, reply)
            or commit_waits(name, self._commits, self.log, now)
            or slice_wait(name)
        )

    def apply(self, change: Change[M]) -> None:
        """Take an event without a reply: new metadata. The queue has no bound for these, as a lost
        one would never come again.
        """
        self._take_without_reply(lambda machine, _ticket, now_ms: change(machine, now_ms))

    def _timer_due(self, key: TimerKey) -> None:
        self._take_without_reply(partial(self._timer_event, key))

    def _timer_event(self, key: TimerKey, machine: M, _ticket: Ticket, now_ms: int) -> EventResult:
        return machine.timer(key, now_ms) if self.keyed_timers.claim(key) else Effects()

    def _take_without_reply(self, event: Event[M]) -> None:
        if self.state is not _ACTIVE:
            return
        if self._has_turns:
            self._turns.append((event, PendingReply()))
            return
        if self._take(event, PendingReply()):
            self.go_on(self._elapsed())

    def _wake(self) -> None:
        """Note that the log has changed or the batch is due. The caller is amid its own work."""
        if not self._is_woken:
            self._is_woken = True
            self._schedule(self)

    # Work

    @property
    def _has_turns(self) -> bool:
        return self._steps is not None or bool(self._turns) or bool(self._follow_ups)

    @property
    def busy(self) -> bool:
        """True if `go_on` has something to do."""
        return self._is_woken or self._has_turns

    def go_on(self, ends: float) -> None:
        """Work until `ends` of `Clock.elapsed`, at least one step; schedule the rest."""
        try:
            self._work(ends)
        except InvariantError:
            raise
        except Exception as error:  # noqa: BLE001 - logged; the shard ends
            self._reload(error)
        if self._has_turns:
            self._schedule(self)

    def _work(self, ends: float) -> None:
        if self._is_woken:
            self._is_woken = False
            self._complete(self._commits.take_committed())
            if self._accumulator.is_due:
                self._flush()
        while self._has_turns:
            steps = self._steps
            if steps is not None:
                if advance(steps, self._elapsed, ends) is None:
                    break
                if self._steps is steps:  # else it was unloaded
                    self._steps = None
            elif self._follow_ups:
                now_ms = self._now_ms()
                self._steps = self._perform(self._follow_ups.popleft()(now_ms), now_ms)
            else:
                self._take(*self._turns.popleft())
            if self._elapsed() >= ends:
                break
        if self._batching.linger_ms == ADAPTIVE and not self._is_in_round:
            self._flush()

    def _end_round(self) -> None:
        self._is_in_round = False
        try:
            self._flush()
        except InvariantError:
            raise
        except Exception as error:  # noqa: BLE001 - logged; the shard ends
            self._reload(error)
        if self._has_turns:
            self._schedule(self)

    def _take(self, event: Event[M], reply: PendingReply) -> bool:
        """Have the machine decide, and perform the effects as far as that takes one step. Return
        whether steps or follow-ups are left.

        The shard is loaded again if either fails.
        """
        self._taken += 1
        now_ms = int(self._wall() * 1000)
        try:
            try:
                effects = event(self.machine, reply, now_ms)
            except KafkaError as error:
                effects = Effects([], [(reply, error.as_value())])
            except InvariantError:
                raise
            except Exception:
                self._answer([(reply, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))])
                raise
            if isinstance(effects, Effects):
                self._steps = self._perform(effects, now_ms)
            else:
                self._steps = self._take_in_steps(effects, reply)
        except InvariantError:
            raise
        except Exception as error:  # noqa: BLE001 - logged; the shard ends
            self._reload(error)
        return self._steps is not None or bool(self._follow_ups)

    def _reload(self, error: Exception) -> None:
        """Have the shard loaded again after an error: lost records, or a bug."""
        if isinstance(error, KafkaError):
            _logger.warning("records lost", shard=self.name, reason=str(error))
        else:
            _logger.error("event failed", shard=self.name, exc_info=error)
        self.fail()

    def _take_in_steps(self, steps: Steps[Effects], reply: PendingReply) -> Steps[None]:
        try:
            effects = yield from steps
        except KafkaError as error:
            effects = Effects([], [(reply, error.as_value())])
        except InvariantError:
            raise
        except Exception:
            self._answer([(reply, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))])
            raise
        rest = self._perform(effects, self._now_ms())
        if rest is not None:
            yield from rest

    # Effects

    def _perform(self, effects: Effects, now_ms: int) -> Steps[None] | None:
        """Set the timers, append the records, complete the replies: the one path of all effects.

        Return the steps that are left where there is more than fits into one.
        """
        if effects.origin is not None:
            steps = self._perform_for(effects.origin, effects)
            # A marker may end a transaction of many records.
            is_large = effects.origin.marker is not None or len(effects.records) > AT_ONCE
            return steps if is_large else whole(steps)
        timers = effects.timers
        if max(len(timers), len(effects.records), len(effects.answers)) > AT_ONCE:
            return self._perform_large(effects)
        if timers:
            self.keyed_timers.apply(timers)
        records, written = effects.records, None
        if (records or self._accumulator.effects) and self._accumulate(effects, now_ms):
            return None
        if records:
            try:
                written = self.log.append(records, now_ms)
            except KafkaError as error:
                self._refuse(effects, error)
                return None
            self._replay(effects)
        commits = self._commits
        if (written is None and not commits.waiting) or not commits.hold(written, effects):
            if effects.answers:
                self._answer(effects.answers)
            if effects.committed is not None:
                self._follow_ups.append(effects.committed)
        return None

    def _perform_for(self, origin: Origin, effects: Effects) -> Steps[None]:
        """Do the same for records in the name of a producer: a batch of their own, behind the open
        one.
        """
        self.keyed_timers.apply(effects.timers)
        self._flush()
        if self._is_unloaded:
            return
        try:
            written = yield from self.log.append_for(origin, effects.records, self._now_ms())
        except KafkaError as error:
            self._refuse(effects, error)
            return
        self._records += len(effects.records)
        for number, record in enumerate(effects.records, 1):
            self.machine.replay_transactional(origin.producer_id, record)
            if not number % AT_ONCE:
                yield
        if origin.marker is not None:
            committed = origin.marker.committed
            yield from self.machine.end_transaction(origin.producer_id, committed=committed)
        if not self._commits.hold(written, effects):
            self._complete([effects])

    def _perform_large(self, effects: Effects) -> Steps[None]:
        """Do the same in chunks. Records that fit into no batch are encoded and written apart."""
        yield
        for number, timers in enumerate(in_slices(effects.timers, AT_ONCE)):
            if number:
                yield
            self.keyed_timers.apply(timers)
        if self._accumulate(effects, self._now_ms()):
            return
        records, written = effects.records, None
        if records:
            try:
                encoded = yield from self.log.encode(records, self._now_ms(), atomic=effects.atomic)
                written = yield from self.log.write(encoded)
            except KafkaError as error:
                self._refuse(effects, error)
                return
            self._records += len(records)
            yield  # one record may be large
            if effects.replays:
                for number, record in enumerate(records, 1):
                    self.machine.replay(record)
                    if not number % AT_ONCE:
                        yield
        if not self._commits.hold(written, effects):
            for number, answers in enumerate(in_slices(effects.answers, AT_ONCE)):
                if number:
                    yield
                self._answer(answers)
            if effects.committed is not None:
                self._follow_ups.append(effects.committed)

    def _accumulate(self, effects: Effects, now_ms: int) -> bool:
        """Add the effects to the batch that stays open for further events, and replay them.

        Return False if there is no such batch, or if it has no room for them: it is written then.
        """
        accumulator = self._accumulator
        if not (accumulator.effects or (effects.records and self._is_lingering())):
            return False
        try:
            while not accumulator.add(effects, now_ms):
                if not accumulator.is_open:
                    return False
                self._flush()
                if self._is_unloaded:
                    return True
        except KafkaError as error:
            self._refuse(effects, error)
            return True
        self._replay(effects)
        if accumulator.is_full:
            self._flush()
        return True

    def _is_lingering(self) -> bool:
        """True if a new batch stays open for further events.

        The first event of a round is written by itself: mostly no other one follows, and a batch
        for one event costs more. Where appends may be refused later (a slow directory), each event
        is written by itself: its refusal then costs no other event.
        """
        batching = self._batching
        if batching.linger_ms != ADAPTIVE:
            return batching.linger_ms > 0
        deferred = batching.deferred
        if not self._turns:
            if deferred.calls is None:
                return False
            if self._round != deferred.number:
                self._round = deferred.number
                return False
        if not self.log.is_calm:
            return False
        if self._turns:
            return True
        deferred.defer(self._end_round)
        self._is_in_round = True
        return True

    def _flush(self) -> None:
        """Write the open batch, if there is one, and complete the replies of its events."""
        accumulator = self._accumulator
        if not accumulator.is_open:
            return
        effects, now_ms = accumulator.effects, self._now_ms()
        try:
            written = accumulator.write(now_ms)
        except KafkaError as error:
            self._refused += len(effects)
            _logger.warning("batch refused", shard=self.name, reason=str(error))
            self._answer(loss_replies(effects, error.as_value(), now_ms).items())
            self.fail()
            return
        self._complete(each for each in effects if not self._commits.hold(written, each))

    def _replay(self, effects: Effects) -> None:
        self._records += len(effects.records)
        if effects.replays:
            replay = self.machine.replay
            for record in effects.records:
                replay(record)

    def _refuse(self, effects: Effects, error: KafkaError) -> None:
        """The records of one event are not in the log and were not replayed."""
        self._refused += 1
        _logger.warning("records refused", shard=self.name, reason=str(error))
        if effects.refused is not None:
            self._follow_ups.append(partial(effects.refused, error.as_value()))
        else:
            self._answer([(reply, error.as_value()) for reply, _ in effects.answers])

    def _complete(self, committed: Iterable[Effects]) -> None:
        """Reply to each before the next is asked for: a loss may end the iteration."""
        for effects in committed:
            self._answer(effects.answers)
            if effects.committed is not None:
                self._follow_ups.append(effects.committed)

    def _answer(self, answers: Iterable[tuple[Any, Any]]) -> None:
        """Complete replies. The tickets of a shard are instances of PendingReply."""
        for reply, value in answers:
            self._waiting.pop(reply, None)
            reply.give(value)

    def _now_ms(self) -> int:
        return int(self._wall() * 1000)

    # Life

    @property
    def _is_unloaded(self) -> bool:
        """True if unloaded. Recheck after every call of the log or of the machine."""
        return self.state is ShardState.UNLOADED

    def activate(self, read: object = None) -> None:
        """Serve: everything stored has been replayed.

        read: what was replayed last. No reply is completed before that is committed.
        """
        self.state = ShardState.ACTIVE
        self._steps = self._begin(read)
        self.go_on(self._elapsed() + _AT_ONCE_S)

    def _begin(self, read: object) -> Steps[None]:
        if read is not None:
            self._commits.hold(read, Effects())
        effects = yield from self.machine.loaded(self._now_ms())
        rest = self._perform(effects, self._now_ms())
        if rest is not None:
            yield from rest

    def fail(self) -> None:
        """Have the shard loaded again: replayed records may be lost."""
        if self.state is ShardState.ACTIVE:
            self.unload()
            self._failed(self)

    def unload(self) -> None:
        """Stop serving; idempotent. `dismiss` completes the replies that are left."""
        self.state = ShardState.UNLOADED
        self._commits.close()
        self._accumulator.close()
        self._turns.clear()
        self._follow_ups.clear()
        self._steps, self._is_woken, self._is_in_round = None, False, False

    def dismiss(self) -> Steps[None]:
        """Cancel all timers of an unloaded shard, and answer what waits with NOT_COORDINATOR."""
        yield from self.keyed_timers.clear()
        waiting, self._waiting = self._waiting, {}
        for reply in waiting:
            reply.give(KafkaError(ErrorCode.NOT_COORDINATOR, self.name))
            yield

    def figures(self) -> Figures:
        """Figures for the tree."""
        return {
            "state": self.state.value,
            "events": self._taken,
            "turns": len(self._turns),
            "turns_bound": _QUEUED,
            "records": self._records,
            "refused": self._refused,
            **self._accumulator.figures(),
            "uncommitted": len(self._commits.waiting),
            "waiting": len(self._waiting),
            "timers": len(self.keyed_timers),
        }
