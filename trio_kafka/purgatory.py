"""Purgatories: operations that wait for a change of state or a deadline, without a task.

A change only marks the operations that watch its key, as the code that makes it may be in the
middle of its work. A marked operation enters a lane, at most once at a time; the task that serves
the lane calls `check`. An operation completes once, and has left every list then. Keys are objects,
such as a partition; deadlines are `trio.current_time()`. Source: Kafka's DelayedOperationPurgatory.
"""

import heapq
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, Generic, NoReturn, Protocol, TypeVar

import trio
from attrs import field

from trio_kafka import held
from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.declared_waits import waits_for
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.introspect.waits import Subject, SubjectKind, Wait, Waiting, timed
from trio_kafka.pending import NO_ANSWER, Eventual, Fail, Pending, then

T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")
_COMPACTED: Final = 64  # smaller heaps are not compacted
_NAMED: Final = 4  # keys that a wait names
_NEVER: Final = float("inf")


@define(eq=False)
class Timer:
    """A scheduled call; None once it was made or cancelled."""

    call: Callable[[], None] | None


class Timers:
    """Any number of timers with one heap and one task, which sleeps while there are none."""

    def __init__(self, node: Node, name: str = "timers") -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = count()
        self._scope = trio.CancelScope()
        self._dead = 0
        node.add(name, "job", self.figures)
        held.opened(self)

    def at(self, deadline: float, call: Callable[[], None]) -> Timer:
        """Schedule `call`, which must not raise, for a time of `trio.current_time()`."""
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

    def pass_over(self, held: Collection[Timer]) -> None:
        """Sleep until the first timer that is not one of `held`, or until `set_wake`. O(n)."""
        self._scope.deadline = min(
            (at for at, _, timer in self._heap if timer.call is not None and timer not in held),
            default=float("inf"),
        )

    def postpone(self, held: Collection[Timer], seconds: float) -> None:
        """Put off some timers. O(n)."""
        self._heap = [
            (at + seconds if timer in held else at, order, timer)
            for at, order, timer in self._heap
            if timer.call is not None
        ]
        heapq.heapify(self._heap)
        self._dead = 0

    def set_wake(self) -> None:
        """Sleep until the first timer, after `pass_over` and `postpone`."""
        self._scope.deadline = self._heap[0][0] if self._heap else float("inf")

    @property
    def waiting(self) -> int:
        return len(self._heap) - self._dead

    def still_held(self) -> Mapping[str, int]:
        """See `held.Ledger`."""
        return {"timers": self.waiting}

    def figures(self) -> Figures:
        return {
            "waiting": self.waiting,
            "dead": self._dead,
            "next_s": self._heap[0][0] - trio.current_time() if self._heap else None,
        }

    @waits_for("time", Subject("broker", "this broker"), "the next deadline of a parked request")
    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Make the calls when they are due, until cancelled; started at once."""
        task_status.started()
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
    """Watcher of a key: a Delayed, or a fetch session that notes the change for later."""

    def marked(self, key: Hashable) -> None:
        """Note that the key changed; nothing else, as the caller is in the middle of its work."""


@define(eq=False)
class Delayed(Pending[T_co], Generic[T_co]):
    """Operation that waits for a change of state.

    keys: whose changes may complete it. Change them by `watch_instead`.
    try_complete: called with `timed_out`; returns the value, or None for "not yet", which is not
        allowed when timed out. NO_ANSWER stands for the value None. It must not use the frame,
        which is given back at `watch`.
    about: says what the operation waits for, when it is asked.
    since: `trio.current_time()` when it was registered; 0: unknown.
    soon: it will probably be done at the end of the round, so it is registered only after that.
    joint: the operation that waits for this one and others, and is registered in its place.
    queued, lane, finish, timer: belong to the purgatory.
    """

    keys: Sequence[Hashable]
    deadline: float
    try_complete: Callable[[bool], object]
    purgatory: "Purgatory"
    about: Waiting | None = None
    done: bool = field(default=False, init=False)
    timed_out: bool = field(default=False, init=False)
    queued: bool = field(default=False, init=False)
    lane: "Callable[[Delayed[object]], None] | None" = field(default=None, init=False)
    finish: "Callable[[object], None] | None" = field(default=None, init=False)
    since: float = field(default=0.0, init=False)
    soon: bool = field(default=False, init=False)
    joint: "Delayed[object] | None" = field(default=None, init=False)
    timer: Timer | None = field(default=None, init=False)

    def then(
        self, finish: Callable[[T_co], Eventual[U]], fail: Fail[U] | None = None
    ) -> "Delayed[U]":
        """Return this operation, with `finish` or `fail` called in the turn in which it ends."""
        if fail is None:
            self.try_complete = partial(_then, self.try_complete, finish)
        else:
            self.try_complete = partial(_then_or_fail, self.try_complete, finish, fail)
        return self  # type: ignore[return-value]  # it is one of U from now on

    def waits(self, now: float) -> tuple[Wait, ...]:
        """See `Waiting`. The first wait has the age of the operation, and the earlier deadline of
        its own and the operation's.
        """
        first, *further = (self.about.waits(now) if self.about else ()) or (self._key_wait(),)
        age_s = now - self.since if self.since else first.age_s
        left_s = first.left_s
        if self.deadline != _NEVER:
            operation_s = max(self.deadline - now, 0.0)
            left_s = operation_s if left_s is None else min(left_s, operation_s)
        return (timed(first, age_s, left_s), *further)

    def _key_wait(self) -> Wait:
        """Return the wait of an operation that says nothing of itself: for a change of its keys."""
        name, keys = self.purgatory.name, self.keys
        if not keys:
            return Wait(cause="change", words=f"a change in {name}", on=Subject("task", name))
        names = ", ".join(_name_of(key) for key in keys[:_NAMED])
        more = f" and {len(keys) - _NAMED:,} more" if len(keys) > _NAMED else ""
        kind: SubjectKind = "partition" if hasattr(keys[0], "at") else "task"
        on = Subject(kind, _name_of(keys[0]))
        return Wait(cause="change", words=f"a change in {name}: {names}{more}", on=on)

    def watch_instead(self, keys: Sequence[Hashable]) -> None:
        """Change the keys, in `try_complete`."""
        if self.lane is not None:
            self.purgatory.move(self, keys)
        else:
            self.keys = keys

    def marked(self, key: Hashable = None) -> None:
        """Enter the lane, unless the operation is there already or done."""
        del key
        if self.joint is not None:
            self.joint.marked()
        elif not self.queued and self.lane is not None:
            self.queued = True
            self.lane(self)


def _name_of(key: object) -> str:
    """Return the name of a partition, or the type of another key."""
    return str(getattr(key, "at", type(key).__name__))


def _then(
    try_complete: Callable[[bool], Any], finish: Callable[[Any], Any], timed_out: bool
) -> object:
    """Return what `finish` makes of the value, which NO_ANSWER stands for if it is None."""
    value = try_complete(timed_out)
    if value is None:
        return None
    if isinstance(value, Pending):
        return value.then(finish)
    result = finish(None if value is NO_ANSWER else value)
    return NO_ANSWER if result is None else result


def _then_or_fail(
    try_complete: Callable[[bool], object],
    finish: Callable[[Any], Any],
    fail: Fail[object],
    timed_out: bool,
) -> object:
    """Return what `finish` makes of the value, or `fail` of the exception in its place."""
    try:
        value = try_complete(timed_out)
    except BaseException as error:  # noqa: BLE001 - `fail` decides
        result: object = fail(error)
    else:
        if value is None:
            return None
        result = then(None if value is NO_ANSWER else value, finish, fail)
    return NO_ANSWER if result is None else result


def _over(timed_out: bool) -> None:
    """Stand in the place of `try_complete` when an operation is over."""
    del timed_out


class Purgatory:
    """Operations of one kind, by name (Produce, Fetch, ...). watchers: by key. timers: shared."""

    def __init__(self, name: str, timers: Timers, node: Node) -> None:
        self.name = name
        self.timers = timers
        self.watchers: dict[Hashable, dict[Watcher, None]] = {}
        self._waiting: dict[Delayed[object], None] = {}
        self._completed = self._expired = self._dropped = self._high_water = 0
        self._closed = False
        node.add(name, "purgatory", self.figures)
        held.opened(self)

    def watch(
        self,
        delayed: Delayed[object],
        lane: Callable[[Delayed[object]], None],
        finish: Callable[[object], None],
    ) -> None:
        """Register an operation that is not done yet.

        No change is missed if no checkpoint lies between `try_complete` and this call.
        lane: called with the operation when it is marked; the task of the lane calls `check`.
        finish: called once, with the answer, the exception that `try_complete` raised, or None if
            the operation was dropped.
        """
        delayed.lane, delayed.finish = lane, finish
        for key in delayed.keys:
            self.attach(key, delayed)
        self._waiting[delayed] = None
        if len(self._waiting) > self._high_water:  # noqa: PLR1730 - max() costs more
            self._high_water = len(self._waiting)
        if delayed.deadline != float("inf"):
            delayed.timer = self.timers.at(delayed.deadline, partial(self._expire, delayed))
        if self._closed:
            self._expire(delayed)

    def attach(self, key: Hashable, watcher: Watcher) -> None:
        """Let `watcher` watch `key`."""
        watchers = self.watchers.get(key)
        if watchers is None:
            watchers = self.watchers[key] = {}
        watchers[watcher] = None

    def detach(self, key: Hashable, watcher: Watcher) -> None:
        """Undo `attach`. Idempotent."""
        watchers = self.watchers.get(key)
        if watchers is not None:
            watchers.pop(watcher, None)
            if not watchers:
                del self.watchers[key]

    def move(self, delayed: Delayed[object], keys: Sequence[Hashable]) -> None:
        """Change the keys of an operation, right after a `check`."""
        for key in delayed.keys:
            self.detach(key, delayed)
        delayed.keys = keys
        for key in keys:
            self.attach(key, delayed)

    def mark(self, key: Hashable) -> None:
        """Mark all that watches `key`: its state changed, or it was deleted."""
        watchers = self.watchers.get(key)
        if watchers is not None:
            for watcher in watchers:
                watcher.marked(key)

    def check(self, delayed: Delayed[object]) -> None:
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

    def complete_now(self, delayed: Delayed[object]) -> object:
        """Try to complete an operation that is not registered.

        Returns its answer, or the exception that `try_complete` raised; None: register it.
        """
        answer = self._ask(delayed)
        if answer is not None:
            delayed.done = True
            delayed.try_complete, delayed.about = _over, None
            self._completed += 1
        return answer

    def _ask(self, delayed: Delayed[object]) -> object:
        try:
            answer = delayed.try_complete(delayed.timed_out)
            if answer is None and delayed.timed_out:
                raise RuntimeError(f"{self.name}: no answer at the deadline")
        except KafkaError as error:
            return error.as_value()  # its traceback would keep this frame alive
        except Exception as error:  # noqa: BLE001 - becomes the answer
            return error
        return answer

    def drop(self, delayed: Delayed[object]) -> None:
        """End an operation without an answer, registered or not. Idempotent."""
        if not delayed.done:
            self._waiting.setdefault(delayed)
            self._dropped += 1
            self._end(delayed, None)

    def close(self) -> None:
        """Time out all operations, also later ones, as the broker stops."""
        self._closed = True
        for delayed in self._waiting:
            self._expire(delayed)

    def own_timers(self) -> set[Timer]:
        """Return the timers of the deadlines of all operations."""
        return {delayed.timer for delayed in self._waiting if delayed.timer is not None}

    def postpone(self, seconds: float) -> None:
        """Put off the deadlines of all operations; their timers are put off by as much."""
        for delayed in self._waiting:
            delayed.deadline += seconds

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def still_held(self) -> Mapping[str, int]:
        """See `held.Ledger`. Keys that are watched without an operation belong to sessions."""
        return {f"operations in purgatory {self.name}": len(self._waiting)}

    def figures(self) -> Figures:
        oldest = next(iter(self._waiting), None)
        now = trio.current_time() if oldest else 0.0
        return {
            "waiting": len(self._waiting),
            "high_water": self._high_water,
            "watched": len(self.watchers),
            "completed": self._completed,
            "expired": self._expired,
            "dropped": self._dropped,
            "oldest_s": now - oldest.since if oldest and oldest.since else None,
            "oldest_left_s": None if oldest is None else oldest.deadline - now,
        }

    def _expire(self, delayed: Delayed[object]) -> None:
        delayed.timed_out = True
        delayed.marked()

    def _end(self, delayed: Delayed[object], answer: object) -> None:
        finish, timer = delayed.finish, delayed.timer
        delayed.done = True
        delayed.lane = delayed.finish = delayed.timer = delayed.about = None
        delayed.try_complete = _over  # it may refer to the operation, and to the whole request
        if timer is not None:
            self.timers.cancel(timer)
        for key in delayed.keys:
            self.detach(key, delayed)
        del self._waiting[delayed]
        delayed.keys = ()
        if finish is not None:
            finish(answer)
