"""Effects of an event on a coordinator's machine: records, answers, timers.

Machines are sans-IO: no clock, no randomness, no task. An event is a call with all its inputs and
the time. It returns Effects, or raises KafkaError, which is then the answer. A shell performs the
effects in this order: it appends the records as one batch, or refuses them; it replays each into
the machine; it gives the answers when the records, and all records before them, are committed.
"""

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeAlias

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import KafkaError
from trio_kafka.log.transaction_checks import AppendCheck
from trio_kafka.records.control import Marker
from trio_kafka.scheduling.chunked_work import Steps

Ticket: TypeAlias = Hashable  # one pending request; opaque, answered exactly once
Answer: TypeAlias = tuple[Ticket, object]  # a value, or a KafkaError
TimerKey: TypeAlias = tuple[Hashable, ...]  # ("session", group, member): the first names its kind
LATEST: Final = -1
AT_ONCE: Final = 100  # records, answers or timers of one event in one step: 2 ms


@define
class CoordinatorRecord:
    """One record of an internal topic. Never changed, but not frozen: nearly every request makes
    one, and a frozen one costs four times as much.

    key: the message stored as the record's key. value: None is a tombstone. version: of the value;
    LATEST is the version that the topic's codec writes.
    """

    key: Any
    value: Any = None
    version: int = LATEST


@define
class SetTimer:
    """Call `machine.timer(key, now_ms)` in `delay_ms`. Never changed, see `CoordinatorRecord`.

    keep: leave an earlier timer of this key as it is; otherwise it is replaced.
    """

    key: TimerKey
    delay_ms: int
    keep: bool = False


@frozen
class CancelTimer:
    """Cancel the timer of this key, if it is set."""

    key: TimerKey


@frozen(kw_only=True)
class Origin:
    """Producer in whose name a batch is written: that of a transaction.

    check: of the batch at its turn, against the producers of the log. marker: the end of the
    transaction, a batch without records.
    """

    producer_id: int
    producer_epoch: int
    check: AppendCheck
    marker: Marker | None = None


@define(eq=False)
class Effects:
    """Result of an event.

    records: one batch; may be empty. atomic: if false, many records may become several batches.
    answers: given when the records are committed; without records, when all records before are. A
    KafkaError is an answer like any other.
    timers: set and cancelled at once, in this order, even if the records are refused.
    committed: returns the effects that follow when the records are committed; called with the time.
    refused: returns the effects that follow when the records are refused, answers included. Without
    it, each ticket of `answers` gets the error. Neither is called after an unload.
    origin: whose batch the records are; None: the coordinator's. Records of a producer, or its
    marker, are a batch of their own, and are replayed as part of its transaction.
    replays: false if the machine has changed its state already, because a record holds only a part
    of it (a classic group's members).
    """

    records: list[CoordinatorRecord] = field(factory=list)
    answers: list[Answer] = field(factory=list)
    timers: list[SetTimer | CancelTimer] = field(factory=list)
    committed: "Callable[[int], Effects] | None" = None
    refused: "Callable[[KafkaError, int], Effects] | None" = None
    replays: bool = True
    atomic: bool = True
    origin: Origin | None = None

    def answer(self, ticket: Ticket, value: object) -> "Effects":
        """Add an answer."""
        self.answers.append((ticket, value))
        return self

    def set_timer(self, key: TimerKey, delay_ms: int, *, keep: bool = False) -> "Effects":
        """Add a timer to set."""
        self.timers.append(SetTimer(key, delay_ms, keep))
        return self

    def cancel_timer(self, key: TimerKey) -> "Effects":
        """Add a timer to cancel."""
        self.timers.append(CancelTimer(key))
        return self

    def join(self, other: "Effects") -> "Effects":
        """Add the effects of another event, as one batch.

        Raises ValueError if only one of them replays its records, if both have a callback, or if
        one is a producer's.
        """
        if self.origin is not None or other.origin is not None:
            raise ValueError("records of a producer, with those of another event")
        if other.records and self.records and self.replays is not other.replays:
            raise ValueError("records that are replayed, with records that are not")
        if (self.committed and other.committed) or (self.refused and other.refused):
            raise ValueError("two events with a callback for the fate of their records")
        if other.records:
            self.atomic = other.atomic or (self.atomic and bool(self.records))
            self.replays = other.replays
        self.records += other.records
        self.answers += other.answers
        self.timers += other.timers
        self.committed = self.committed or other.committed
        self.refused = self.refused or other.refused
        return self


EventResult: TypeAlias = Effects | Steps[Effects]
"""Result of an event: its effects, or the steps that lead to them if they take long."""
