"""Trio's memory channels with counts of their own, known to the tree.

The counts are kept beside the channel: reading one costs nothing where Trio's `statistics()` costs
1 µs, so hot loops may ask "does anything wait?" and "is a receiver idle?". They are exact whenever
no task of the channel is between being cancelled and having left it. How long the oldest item has
waited is worked out when it is asked, from a time that items carry anyway: no item costs a reading
of the clock.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import trio

from trio_kafka.attributes import define, frozen
from trio_kafka.introspect.tree import Figures, Node

T = TypeVar("T")
UNBOUNDED: Final = float("inf")


@frozen(kw_only=True)
class ChannelStatistics:
    """A moment of a channel; times in seconds of `trio.current_time()`."""

    bound: float
    queued: int
    idle: int
    high_water: int
    items: int
    blocked: int
    blocked_s: float


def no_age() -> None:
    """The age of the oldest item where items do not carry their time."""


@define(eq=False)
class Counts:
    """What both ends of a channel count together.

    oldest_s: how long the next item has waited; None where none does, or nobody knows.
    """

    bound: float
    oldest_s: Callable[[], float | None] = no_age
    queued: int = 0  # items in the channel, those of blocked senders included
    idle: int = 0  # receivers that wait and were not handed an item yet
    high_water: int = 0
    items: int = 0
    blocked: int = 0  # sends that had to wait
    blocked_s: float = 0.0

    def sent(self) -> None:
        """An item was taken by the channel: an idle receiver has it, or it is queued."""
        self.items += 1
        if self.idle:
            self.idle -= 1
        else:
            self.queued += 1
            if self.queued > self.high_water:  # noqa: PLR1730 - max() costs three times as much
                self.high_water = self.queued

    def figures(self) -> Figures:
        return {
            "depth": self.queued,
            "bound": None if self.bound == UNBOUNDED else int(self.bound),
            "high_water": self.high_water,
            "idle": self.idle,
            "items": self.items,
            "blocked": self.blocked,
            "blocked_s": self.blocked_s,
            "oldest_s": self.oldest_s(),
        }

    def statistics(self) -> ChannelStatistics:
        return ChannelStatistics(
            bound=self.bound,
            queued=self.queued,
            idle=self.idle,
            high_water=self.high_water,
            items=self.items,
            blocked=self.blocked,
            blocked_s=self.blocked_s,
        )


@define(eq=False)
class Sender(Generic[T]):
    """The sending end."""

    counts: Counts
    _end: trio.MemorySendChannel[T]

    def send_nowait(self, item: T) -> None:
        """Raises trio.WouldBlock when the channel is full."""
        self._end.send_nowait(item)
        self.counts.sent()

    async def send(self, item: T) -> None:
        """Waits while the channel is full, and counts how long."""
        counts = self.counts
        try:
            self._end.send_nowait(item)
        except trio.WouldBlock:
            pass
        else:
            counts.sent()
            await trio.lowlevel.checkpoint()
            return
        counts.blocked += 1
        counts.queued += (
            1  # the receiver counts it down when it takes it, maybe before this task runs again
        )
        began = trio.current_time()
        try:
            await self._end.send(item)
        except BaseException:
            counts.queued -= 1
            raise
        finally:
            counts.blocked_s += trio.current_time() - began
        counts.items += 1

    def statistics(self) -> ChannelStatistics:
        return self.counts.statistics()


@define(eq=False)
class Receiver(Generic[T]):
    """The receiving end."""

    counts: Counts
    _end: trio.MemoryReceiveChannel[T]

    def receive_nowait(self) -> T:
        """Raises trio.WouldBlock when nothing waits."""
        item = self._end.receive_nowait()
        self.counts.queued -= 1
        return item

    async def receive(self) -> T:
        """Waits for an item; does not let other tasks run when there is one already."""
        counts = self.counts
        try:
            item = self._end.receive_nowait()
        except trio.WouldBlock:
            counts.idle += 1
            try:
                return await self._end.receive()
            except BaseException:
                now = self._end.statistics()
                counts.idle = now.tasks_waiting_receive
                counts.queued = now.current_buffer_used + now.tasks_waiting_send
                raise
        counts.queued -= 1
        return item

    def statistics(self) -> ChannelStatistics:
        return self.counts.statistics()


def open_channel(
    bound: float, node: Node, name: str, age_s: Callable[[T], float | None] = lambda _: None
) -> tuple[Sender[T], Receiver[T]]:
    """A channel for `bound` items under `node`; it leaves the tree with that node.

    age_s: for how long an item has been here, by a time that it carries.
    """
    send, receive = trio.open_memory_channel[T](bound)

    def oldest_s() -> float | None:
        # Trio shows how many wait, but not which is next.
        waiting = receive._state.data  # noqa: SLF001
        return age_s(waiting[0]) if waiting else None

    counts = Counts(bound, oldest_s)
    node.add(name, "channel", counts.figures)
    return Sender(counts, send), Receiver(counts, receive)
