"""Trio's memory channels with their own counts, and a node in the tree.

Reading a count costs nothing, where Trio's `statistics()` takes 1 µs, so hot loops may ask whether
an item is queued or a receiver idle. Counts are exact unless a task of the channel was cancelled
and has not left it yet. The age of the oldest item is computed when asked, from a time that items
carry anyway.
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
    """Snapshot of a channel; times in seconds of `trio.current_time()`."""

    bound: float
    queued: int
    idle: int
    high_water: int
    items: int
    blocked: int
    blocked_s: float


def no_age() -> None:
    """Return None: items carry no time."""


@define(eq=False)
class Counts:
    """Counts of a channel, shared by both ends.

    queued: items in the channel, including those of blocked senders.
    idle: receivers that wait and have no item yet. blocked: sends that had to wait.
    oldest_s: age of the next item; None: no item, or items carry no time.
    """

    bound: float
    oldest_s: Callable[[], float | None] = no_age
    queued: int = 0
    idle: int = 0
    high_water: int = 0
    items: int = 0
    blocked: int = 0
    blocked_s: float = 0.0

    def sent(self) -> None:
        """Count an item: an idle receiver gets it, or it is queued."""
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
    """Sending end of a channel."""

    counts: Counts
    _end: trio.MemorySendChannel[T]

    def send_nowait(self, item: T) -> None:
        """Send an item. Raises trio.WouldBlock when the channel is full."""
        self._end.send_nowait(item)
        self.counts.sent()

    async def send(self, item: T) -> None:
        """Send an item; wait while the channel is full, and count how long."""
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
        counts.queued += 1  # the receiver decrements it, maybe before this task runs again
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
    """Receiving end of a channel."""

    counts: Counts
    _end: trio.MemoryReceiveChannel[T]

    def receive_nowait(self) -> T:
        """Receive an item. Raises trio.WouldBlock when the channel is empty."""
        item = self._end.receive_nowait()
        self.counts.queued -= 1
        return item

    async def receive(self) -> T:
        """Receive an item; wait for one. No checkpoint if one is queued already."""
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
    """Open a channel for `bound` items with a node under `node`, removed with that node.

    age_s: computes the age of an item from a time that it carries.
    """
    send, receive = trio.open_memory_channel[T](bound)

    def oldest_s() -> float | None:
        # Trio has no public access to the next item.
        waiting = receive._state.data  # noqa: SLF001
        return age_s(waiting[0]) if waiting else None

    counts = Counts(bound, oldest_s)
    node.add(name, "channel", counts.figures)
    return Sender(counts, send), Receiver(counts, receive)
