"""What a coordinator's machine wants done after an event: records, answers, timers.

Machines are sans-IO: no clock, no chance, no task. An event is a call with all it needs and the
time; it returns Effects, or raises KafkaError, which is then the answer. A shell performs the
effects in this order: records are appended as one batch, or refused; each is replayed into the
machine; answers are given when the records, and all that was written before them, are committed.
"""

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeAlias

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import KafkaError

Ticket: TypeAlias = Hashable  # stands for one request that waits; opaque, answered exactly once
TimerKey: TypeAlias = tuple[Hashable, ...]  # ("session", group, member): the first names its kind
LATEST: Final = -1
AT_ONCE: Final = 100  # records, answers, timers of one event that are dealt with in one go: 2 ms


@define
class CoordinatorRecord:
    """One record of an internal topic. Never changed: made for nearly every request, it is not
    frozen, which would cost four times as much.

    key: the message that is stored as its key; the type it is written with is the key's own.
    value: None is a tombstone. version: of the value; LATEST is the one that `stored` says.
    """

    key: Any
    value: Any = None
    version: int = LATEST


@define
class SetTimer:
    """Call `machine.timer(key, now_ms)` in `delay_ms`; one that is set for this key is replaced, or
    kept as it is where that is said. Never changed; see `CoordinatorRecord`.
    """

    key: TimerKey
    delay_ms: int
    keep: bool = False


@frozen
class CancelTimer:
    """Forget the timer of this key, if there is one."""

    key: TimerKey


@define(eq=False)
class Effects:
    """What follows from an event.

    records: one atomic batch; may be empty. atomic: where they are not one thing (what has expired,
        by thousands), they may become several batches.
    answers: given when the records are committed; without records, when all that was written before
        is. A KafkaError is an answer like any other.
    timers: set and cancelled at once, in this order, whatever becomes of the records.
    committed: what follows when the records are committed, called with the time.
    refused: what follows when they are not: nothing was replayed. It gives the answers then;
        without it each ticket of `answers` gets the error. Neither is called once it is unloaded.
    replays: whether the records are replayed. A machine whose state has changed already, because it
        is more than what stands in the records (a classic group's members), says no.
    """

    records: list[CoordinatorRecord] = field(factory=list)
    answers: list[tuple[Ticket, Any]] = field(factory=list)
    timers: list[SetTimer | CancelTimer] = field(factory=list)
    committed: "Callable[[int], Effects] | None" = None
    refused: "Callable[[KafkaError, int], Effects] | None" = None
    replays: bool = True
    atomic: bool = True

    def answer(self, ticket: Ticket, value: Any) -> "Effects":
        """Give this answer too."""
        self.answers.append((ticket, value))
        return self

    def set_timer(self, key: TimerKey, delay_ms: int, *, keep: bool = False) -> "Effects":
        """Set this timer too."""
        self.timers.append(SetTimer(key, delay_ms, keep))
        return self

    def cancel_timer(self, key: TimerKey) -> "Effects":
        """Cancel this timer too."""
        self.timers.append(CancelTimer(key))
        return self

    def join(self, other: "Effects") -> "Effects":
        """Both, as one batch. Raises ValueError where the two cannot be one."""
        if other.records and self.records and self.replays is not other.replays:
            raise ValueError("records that are replayed, with records that are not")
        if (self.committed and other.committed) or (self.refused and other.refused):
            raise ValueError("two that want to know what becomes of their records")
        if other.records:
            self.atomic = other.atomic or (self.atomic and bool(self.records))
            self.replays = other.replays
        self.records += other.records
        self.answers += other.answers
        self.timers += other.timers
        self.committed = self.committed or other.committed
        self.refused = self.refused or other.refused
        return self


def no_effects() -> Effects:
    """Nothing to be done."""
    return Effects()


def answered(ticket: Ticket, value: Any) -> Effects:
    """An answer, and no more."""
    return Effects(answers=[(ticket, value)])
