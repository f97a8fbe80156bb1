"""Channel: a bounded queue between tasks, with a node in the tree.

Its counts are plain attributes, so that hot loops may read whether an item is queued or a receiver
idle; a memory channel of Trio builds its `statistics()` for each call. The age of the oldest item
comes from a time that items carry anyway.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import trio

from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.tree import Figures, Node

T = TypeVar("T")
UNBOUNDED: Final = float("inf")


class Channel(Generic[T]):
    """Channel for `bound` items. Its node is removed with its parent.

    queued: items in the channel, including those of blocked senders.
    idle: receivers that wait and have no item yet. blocked: sends that had to wait.
    items: that were sent so far.
    """

    def __init__(
        self,
        bound: float,
        node: Node,
        name: str,
        *,
        age_s: Callable[[T], float | None] = lambda _: None,
    ) -> None:
        """age_s: computes the age of an item from a time that it carries."""
        self.bound = bound
        self.queued = self.idle = self.high_water = self.items = self.blocked = 0
        self.blocked_s = 0.0
        self._age_s = age_s
        self._queue: deque[T] = deque()
        self._senders: OrderedDict[trio.lowlevel.Task, T] = OrderedDict()
        self._receivers: OrderedDict[trio.lowlevel.Task, None] = OrderedDict()
        self._handed: dict[trio.lowlevel.Task, T] = {}  # to receivers that are about to run
        node.add(name, "channel", self.figures)

    def send_nowait(self, item: T) -> None:
        """Send an item. Raises trio.WouldBlock when the channel is full."""
        if self._receivers:
            task, _ = self._receivers.popitem(last=False)
            self.idle -= 1
            self._handed[task] = item
            trio.lowlevel.reschedule(task)
        elif len(self._queue) < self.bound:
            self._queue.append(item)
            self._note_queued()
        else:
            raise trio.WouldBlock
        self.items += 1

    async def send(self, item: T) -> None:
        """Send an item; wait while the channel is full, and count how long."""
        try:
            self.send_nowait(item)
        except trio.WouldBlock:
            pass
        else:
            await trio.lowlevel.checkpoint()
            return
        task, began = trio.lowlevel.current_task(), trio.current_time()

        def abort(raise_cancel: object) -> trio.lowlevel.Abort:
            del raise_cancel, self._senders[task]
            self.queued -= 1
            return trio.lowlevel.Abort.SUCCEEDED

        self._senders[task] = item
        self._note_queued()
        self.blocked += 1
        try:
            await trio.lowlevel.wait_task_rescheduled(abort)
        finally:
            self.blocked_s += trio.current_time() - began
        self.items += 1

    def receive_nowait(self) -> T:
        """Receive an item. Raises trio.WouldBlock when the channel is empty."""
        if self._senders:
            task, last = self._senders.popitem(last=False)
            self._queue.append(last)
            trio.lowlevel.reschedule(task)
        if not self._queue:
            raise trio.WouldBlock
        self.queued -= 1
        return self._queue.popleft()

    @waits_for_work("an item of its channel")
    async def receive(self) -> T:
        """Receive an item; wait for one. No checkpoint if one is queued already."""
        if self.queued:
            return self.receive_nowait()
        task = trio.lowlevel.current_task()

        def abort(raise_cancel: object) -> trio.lowlevel.Abort:
            del raise_cancel, self._receivers[task]
            self.idle -= 1
            return trio.lowlevel.Abort.SUCCEEDED

        self._receivers[task] = None
        self.idle += 1
        await trio.lowlevel.wait_task_rescheduled(abort)
        return self._handed.pop(task)

    def figures(self) -> Figures:
        return {
            "depth": self.queued,
            "bound": None if self.bound == UNBOUNDED else int(self.bound),
            "high_water": self.high_water,
            "idle": self.idle,
            "items": self.items,
            "blocked": self.blocked,
            "blocked_s": self.blocked_s,
            "oldest_s": self._age_s(self._queue[0]) if self._queue else None,
        }

    def _note_queued(self) -> None:
        self.queued += 1
        if self.queued > self.high_water:  # noqa: PLR1730 - max() costs three times as much
            self.high_water = self.queued
