"""Requests that wait for a change of state or for their deadline, without a task.

A change of state only marks the operations that watch it, because the caller may be in the middle
of its work. A marked operation enters a lane, once at a time; the task that serves the lane calls
`look`. An operation completes once and has then left every list. Keys are objects, such as a
partition; deadlines are `trio.current_time()`.
"""

import heapq
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, NoReturn, Protocol

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.tree import Figures, Node

NO_ANSWER: Final = object()  # result of an operation that is complete and has no response to send
_COMPACTED: Final = 64  # smaller heaps are not compacted


@define(eq=False)
class Timer:
    """Scheduled call; None once it was made or cancelled."""

    call: Callable[[], None] | None


class Timers:
    """One heap and one task for any number of timers; the task is idle without timers."""

    def __init__(self, node: Node, name: str = "timers") -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = count()
        self._scope = trio.CancelScope()
        self._dead = 0
        node.add(name, "job", self.figures)

    def at(self, deadline: float, call: Callable[[], None]) -> Timer:
        """Schedule `call` for `deadline` (`trio.current_time()`); it must not raise."""
        timer = Timer(call)
        heapq.heappush(self._heap, (deadline, next(self._order), timer))
        if self._heap[0][2] is timer:
            self._scope.deadline = deadline
        return timer

    def cancel(self, timer: Timer) -> None:
        """Cancel a timer and release its call at once. Idempotent.

        The heap is compacted when most of it is cancelled.
        """
        if timer.call is None:
            return
        timer.call = None
        self._dead += 1
        if self._dead * 2 > len(self._heap) > _COMPACTED:
            self._heap = [entry for entry in self._heap if entry[2].call is not None]
            heapq.heapify(self._heap)
            self._dead = 0

    @property
    def waiting(self) -> int:
        return len(self._heap) - self._dead

    def figures(self) -> Figures:
        return {
            "waiting": self.waiting,
            "dead": self._dead,
            "next": self._heap[0][0] if self._heap else None,
        }

    async def run(self) -> NoReturn:
        """Make due calls until cancelled."""
        while True:
            first = self._heap[0][0] if self._heap else float("inf")
            with trio.CancelScope(deadline=first) as self._scope:
                await trio.sleep_forever()
            self._expire(trio.current_time())

    def _expire(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            timer = heapq.heappop(self._heap)[2]
            call, timer.call = timer.call, None
            if call is None:
                self._dead -= 1
            else:
                call()


class Watcher(Protocol):
    """Object that a purgatory notifies of changed keys: a Delayed, or a fetch session."""

    def marked(self, key: Hashable) -> None:
        """Note the change only: the caller is in the middle of its work."""


@define(eq=False)
class Delayed:
    """Operation that a handler returns instead of a response.

    try_complete: called with `timed_out`; returns the response, or None for "not yet", which is not
    allowed when timed out.
    It holds all that it needs: the request's frame is released when the operation is registered.
    """

    keys: Sequence[Hashable]
    deadline: float
    try_complete: Callable[[bool], Any]
    purgatory: "Purgatory"
    done: bool = field(default=False, init=False)
    timed_out: bool = field(default=False, init=False)
    # Used by its purgatory:
    queued: bool = field(default=False, init=False)
    lane: "Callable[[Delayed], None] | None" = field(default=None, init=False)
    finish: "Callable[[Any], None] | None" = field(default=None, init=False)
    # `trio.current_time()` when it began to wait, set by the task that registers it; 0: unknown.
    since: float = field(default=0.0, init=False)
    # Expected to complete at the end of the deferred batch: register it only after that.
    soon: bool = field(default=False, init=False)
    timer: Timer | None = field(default=None, init=False)

    def marked(self, key: Hashable = None) -> None:
        """Enter the lane, unless it is there already or complete."""
        del key
        if not self.queued and self.lane is not None:
            self.queued = True
            self.lane(self)


class Purgatory:
    """All waiting requests of one kind, such as Produce or Fetch."""

    def __init__(self, name: str, timers: Timers, node: Node) -> None:
        self.name = name
        self._timers = timers
        self.watchers: dict[Hashable, dict[Watcher, None]] = {}  # watchers of each key
        self._waiting: dict[Delayed, None] = {}
        self._completed = self._expired = self._dropped = self._high_water = 0
        self._closed = False
        node.add(name, "purgatory", self.figures)

    def watch(
        self,
        delayed: Delayed,
        lane: Callable[[Delayed], None],
        finish: Callable[[Any], None],
    ) -> None:
        """Register an incomplete operation. No change is missed without a checkpoint between look
        and watch.

        lane: receives the operation when it is marked; its server calls `look`.
        finish: called once with the response, with the exception of try_complete, or with None if
        dropped.
        """
        delayed.lane, delayed.finish = lane, finish
        for key in delayed.keys:
            self.attach(key, delayed)
        self._waiting[delayed] = None
        if len(self._waiting) > self._high_water:  # noqa: PLR1730 - max() costs more
            self._high_water = len(self._waiting)
        if delayed.deadline != float("inf"):
            delayed.timer = self._timers.at(delayed.deadline, partial(self._expire, delayed))
        if self._closed:
            self._expire(delayed)

    def attach(self, key: Hashable, watcher: Watcher) -> None:
        """Notify `watcher` of every mark of `key` from now on."""
        watchers = self.watchers.get(key)
        if watchers is None:
            watchers = self.watchers[key] = {}
        watchers[watcher] = None

    def detach(self, key: Hashable, watcher: Watcher) -> None:
        """Stop notifying a watcher. Idempotent."""
        watchers = self.watchers.get(key)
        if watchers is not None:
            watchers.pop(watcher, None)
            if not watchers:
                del self.watchers[key]

    def move(self, delayed: Delayed, keys: Sequence[Hashable]) -> None:
        """Let an operation watch other keys; it was just examined by `look`."""
        for key in delayed.keys:
            self.detach(key, delayed)
        delayed.keys = keys
        for key in keys:
            self.attach(key, delayed)

    def mark(self, key: Hashable) -> None:
        """Mark the watchers of `key`: its state changed, or it was deleted. Completes nothing
        itself.
        """
        watchers = self.watchers.get(key)
        if watchers is not None:
            for watcher in watchers:
                watcher.marked(key)

    def look(self, delayed: Delayed) -> None:
        """Try to complete a marked operation that was taken from its lane."""
        delayed.queued = False
        if delayed.done:
            return
        answer = self._ask(delayed)
        if answer is None:
            return
        if delayed.timed_out:
            self._expired += 1
        else:
            self._completed += 1
        self._end(delayed, answer)

    def glance(self, delayed: Delayed) -> Any:
        """Try to complete an operation that was never registered.

        Returns the response, or the exception of try_complete; None: register it.
        """
        answer = self._ask(delayed)
        if answer is not None:
            delayed.done = True
            self._completed += 1
        return answer

    def _ask(self, delayed: Delayed) -> Any:
        try:
            answer = delayed.try_complete(delayed.timed_out)
            if answer is None and delayed.timed_out:
                raise RuntimeError(f"{self.name}: no answer at the deadline")
        except KafkaError as error:
            return error.as_value()  # its traceback would refer to this frame and the response
        except Exception as error:  # noqa: BLE001 - the caller handles it
            return error
        return answer

    def drop(self, delayed: Delayed) -> None:
        """End an operation without a response, for example because its client left. Idempotent."""
        if not delayed.done:
            self._waiting.setdefault(delayed)
            self._dropped += 1
            self._end(delayed, None)

    def close(self) -> None:
        """Time out all operations, including later ones, so that they are answered while the broker
        stops.
        """
        self._closed = True
        for delayed in self._waiting:
            self._expire(delayed)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def watched(self) -> int:
        """Keys that are being watched."""
        return len(self.watchers)

    def figures(self) -> Figures:
        oldest = next(iter(self._waiting), None)
        return {
            "waiting": len(self._waiting),
            "high_water": self._high_water,
            "watched": len(self.watchers),
            "completed": self._completed,
            "expired": self._expired,
            "dropped": self._dropped,
            "oldest_s": trio.current_time() - oldest.since if oldest and oldest.since else None,
            "oldest_deadline": None if oldest is None else oldest.deadline,
        }

    def _expire(self, delayed: Delayed) -> None:
        delayed.timed_out = True
        delayed.marked()

    def _end(self, delayed: Delayed, answer: object) -> None:
        finish, timer = delayed.finish, delayed.timer
        delayed.done = True
        delayed.lane = delayed.finish = delayed.timer = None
        if timer is not None:
            self._timers.cancel(timer)
        for key in delayed.keys:
            self.detach(key, delayed)
        del self._waiting[delayed]
        delayed.keys = ()
        if finish is not None:
            finish(answer)
