"""Requests that wait for a change of state or for their deadline, without a task.

A change of state only marks what watches it: whoever changes may be in the middle of its work. A
marked operation is put into a lane, at most once at a time, and whoever serves the lane calls
`look`. An operation completes once, and has then left every list. Keys are objects, such as a
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

NO_ANSWER: Final = object()  # says of an operation: it is done, and nobody is to be told
_COMPACTED: Final = 64  # a heap below this size is left as it is


@define(eq=False)
class Timer:
    """A call to come; None once it was made or cancelled."""

    call: Callable[[], None] | None


class Timers:
    """One heap and one task for any number of timers; armed only while there are some."""

    def __init__(self, node: Node, name: str = "timers") -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = count()
        self._scope = trio.CancelScope()
        self._dead = 0
        node.add(name, "job", self.figures)

    def at(self, deadline: float, call: Callable[[], None]) -> Timer:
        """Call `call` when `trio.current_time()` has reached `deadline`; it must not raise."""
        timer = Timer(call)
        heapq.heappush(self._heap, (deadline, next(self._order), timer))
        if self._heap[0][2] is timer:
            self._scope.deadline = deadline
        return timer

    def cancel(self, timer: Timer) -> None:
        """Forget the call, and what it holds, at once. Idempotent. The heap is compacted when most
        of it is dead.
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
        """Make the calls when their time has come, until cancelled."""
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
    """What a purgatory tells that a key changed: a Delayed, or a session that notes it for
    later.
    """

    def marked(self, key: Hashable) -> None:
        """Only note it: whoever marks is in the middle of its work."""


@define(eq=False)
class Delayed:
    """What a handler returns instead of an answer.

    try_complete: called with `timed_out`; the answer, or None for "not yet", which it must not say
        when timed out.
    It holds all it needs: the request's frame is given back when the operation is registered.
    """

    keys: Sequence[Hashable]
    deadline: float
    try_complete: Callable[[bool], Any]
    purgatory: "Purgatory"
    done: bool = field(default=False, init=False)
    timed_out: bool = field(default=False, init=False)
    # For its purgatory:
    queued: bool = field(default=False, init=False)
    lane: "Callable[[Delayed], None] | None" = field(default=None, init=False)
    finish: "Callable[[Any], None] | None" = field(default=None, init=False)
    # `trio.current_time()` when it began to wait, by whoever registers it; 0: nobody said.
    since: float = field(default=0.0, init=False)
    # Its answer is there at the end of the round, if all goes well: not to be registered before.
    soon: bool = field(default=False, init=False)
    timer: Timer | None = field(default=None, init=False)

    def marked(self, key: Hashable = None) -> None:
        """Enter the lane, unless it is there already or done."""
        del key
        if not self.queued and self.lane is not None:
            self.queued = True
            self.lane(self)


class Purgatory:
    """One kind of waiting request, by name (Produce, Fetch, ...)."""

    def __init__(self, name: str, timers: Timers, node: Node) -> None:
        self.name = name
        self._timers = timers
        self.watchers: dict[Hashable, dict[Watcher, None]] = {}  # who watches each key
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
        """Register an operation that is not done yet. No change is missed if no checkpoint lies
        between look and watch.

        lane: where the operation goes when it is marked; its servant calls `look`.
        finish: called once, with the answer, with the exception that try_complete raised, or with
            None if dropped.
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
        """Tell `watcher` of every mark of `key` from now on."""
        watchers = self.watchers.get(key)
        if watchers is None:
            watchers = self.watchers[key] = {}
        watchers[watcher] = None

    def detach(self, key: Hashable, watcher: Watcher) -> None:
        """Tell it no more. Idempotent."""
        watchers = self.watchers.get(key)
        if watchers is not None:
            watchers.pop(watcher, None)
            if not watchers:
                del self.watchers[key]

    def move(self, delayed: Delayed, keys: Sequence[Hashable]) -> None:
        """Let an operation watch other keys from now on. It has just been looked at."""
        for key in delayed.keys:
            self.detach(key, delayed)
        delayed.keys = keys
        for key in keys:
            self.attach(key, delayed)

    def mark(self, key: Hashable) -> None:
        """The state under `key` changed, or it was deleted. Completes nothing itself."""
        watchers = self.watchers.get(key)
        if watchers is not None:
            for watcher in watchers:
                watcher.marked(key)

    def look(self, delayed: Delayed) -> None:
        """Ask a marked operation, taken from its lane, whether it is done now."""
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
        """The answer of what was never registered, which is done then, or the exception that
        try_complete raised; None: register it.
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
            return error.as_value()  # a traceback would know this frame, which knows the answer
        except Exception as error:  # noqa: BLE001 - whoever registers it answers for it
            return error
        return answer

    def drop(self, delayed: Delayed) -> None:
        """End it without an answer: nobody is there to take one, or was before it was registered.
        Idempotent.
        """
        if not delayed.done:
            self._waiting.setdefault(delayed)
            self._dropped += 1
            self._end(delayed, None)

    def close(self) -> None:
        """Mark everything as timed out, also what is still to come, so that it is answered with
        what there is: the broker stops.
        """
        self._closed = True
        for delayed in self._waiting:
            self._expire(delayed)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def watched(self) -> int:
        """Keys that somebody watches."""
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
