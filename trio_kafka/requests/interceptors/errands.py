"""The tasks of errands: requests that an async interceptor has in hand.

An errand has a task of its own, and mostly does not wake it: whoever has the request, or the
answer to what it waits for, runs it on in the name of the task (`world.lending`), as long as a
token of the group is free. The task itself runs what waits for something else. To the pool an
errand is what it delays: it stands in a Delayed, as its one key.

When an errand is over its task is kept for the next, with its cancel scope, as long as nobody used
that: to start a task costs three times what waking one does, and a scope as much as both.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

import trio

from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.tokens import Tokens
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.world.lending import KNOWN, Lender, RaiseCancel

T = TypeVar("T")
# What an errand does. In its task: TO_BEGIN, TO_GO_ON. By hand: STARTS, run by whoever has the
# request and is given what it delays; STARTED: the same, has forwarded, and nothing was delayed.
# RUNS: later, or in its task; WAITS for something of Trio's; PARKED: waits for what is further in,
# or CANCELLED there.
TO_BEGIN, STARTS, STARTED, RUNS, WAITS, PARKED, CANCELLED, TO_GO_ON, OVER = range(9)
HERE: Final = object()  # what a coroutine yields that is parked
LEFT: Final = object()  # in the place of what it waited for: the peer has left
SPARE: Final = 500  # tasks that wait for the next errand: about 3 kB each


class Group(Protocol):
    """The group of handlers that errands belong to."""

    elapsed: Callable[[], float]
    limiter: Tokens

    @property
    def nursery(self) -> trio.Nursery: ...

    def complete(self, delayed: Delayed) -> None:
        """The lane of completions."""

    async def all_of(self, steps: Steps[T]) -> T:
        """What steps give at their end; others run between slices of them."""


class Errand(Protocol):
    """One request in the hands of an interceptor."""

    @property
    def is_parked(self) -> bool:
        """It waits for others."""

    def is_of(self, in_flight: object) -> bool:
        """Whether it is begun, for an interceptor of the owner with this `InFlight`."""

    def cancel(self) -> None:
        """Its owner goes."""

    def registered(self, finish: Callable[[Any], None]) -> bool:
        """It stands in a Delayed, whose end is told to `finish`. False: it is to be begun, in its
        task.
        """

    async def run(self, worker: "Worker") -> None:
        """Begin or go on in its own task, which has slept or is new."""

    def end_wait(self, raise_cancel: RaiseCancel) -> trio.lowlevel.Abort:
        """It is cancelled while it waits: as an abort function."""

    def leave_request(self) -> None:
        """Nobody is there for an answer: be cancelled."""


class Worker(Lender):
    """One of the tasks; `errand`: what it has in hand. done: how many. surplus: it is not kept for
    the next. spare: where it stands while it has none.
    """

    __slots__ = ("done", "errand", "scope", "spare", "surplus", "used")

    def __init__(self, spare: "list[Worker]", errand: Errand, *, surplus: bool) -> None:
        super().__init__(self._cancelled)
        self.spare = spare
        self.done = 0
        self.errand: Errand | None = errand
        self.surplus = surplus
        self.scope: trio.CancelScope
        self.used = surplus  # the scope: it has to wake before the next errand

    def wake_up(self) -> None:
        """Without an errand: raises what cancels it; or there are too many."""
        given, self.given = self.given, None
        if given is not None:
            given.unwrap()

    def put_back(self) -> None:
        """Its errand, which was run by hand, is over. A cancellation that it missed meanwhile is
        raised when the task waits next: it has to wake for that.
        """
        if self.used or self.missed:
            self.wake()
        else:
            self.spare.append(self)

    def cancel(self) -> None:
        """End what it does."""
        self.used = True
        self.scope.cancel()

    def _cancelled(self, raise_cancel: RaiseCancel) -> trio.lowlevel.Abort:
        if self.errand is not None:
            return self.errand.end_wait(raise_cancel)
        if self in self.spare:
            self.spare.remove(self)
        return trio.lowlevel.Abort.SUCCEEDED


class Errands:
    """Of a group of handlers; implements `purgatory.Keeper` and `parking.Places`.

    by_hand: whether errands may run without their tasks. lendable: the tasks that sleep, for
    errands that begin so.
    """

    name: Final = "Interceptors"

    def __init__(self, group: Group, task_name: str, node: Node) -> None:
        self._group = group
        self._task_name = task_name
        self.limiter = group.limiter
        self.elapsed = group.elapsed
        self.complete = group.complete
        self.all_of = group.all_of
        self.by_hand = KNOWN
        self._spare: list[Worker] = []
        self.lendable = self._spare if KNOWN else []
        self._workers: set[Worker] = set()
        self._to_begin = self._started = self._done = self._most = 0
        node.add("interceptor-tasks", "part", self._figures)

    # --- as a keeper of what is delayed

    def watch(
        self,
        delayed: Delayed,
        lane: Callable[[Delayed], None],
        finish: Callable[[Any], None],
    ) -> None:
        """An errand, begun or not. finish: as a purgatory's."""
        del lane
        errand: Any = delayed.keys[0]
        if not errand.registered(finish):
            self._begin_in_task(errand)

    def look(self, delayed: Delayed) -> None:
        """Nothing marks an errand."""

    def drop(self, delayed: Delayed) -> None:
        """Nobody is there for an answer."""
        for errand in delayed.keys:
            errand.leave_request()  # type: ignore[attr-defined]  # the key is an errand

    # --- as who has what owners want to have an eye on

    def held_for(self, in_flight: object) -> list[Errand]:
        """See `hosting.guard.Holder`."""
        errands = [worker.errand for worker in self._workers if worker.errand is not None]
        return [errand for errand in errands if errand.is_of(in_flight)]

    # --- as those who have places

    def one_parked(self) -> None:
        """Nobody takes the place of a task that has no token."""

    def one_returned(self) -> None:
        """See `one_parked`."""

    # --- tasks

    def _begin_in_task(self, errand: Errand) -> None:
        if self._spare:
            worker = self._spare.pop()
            worker.errand = errand
            worker.wake()
        else:
            self._to_begin += 1
            self._most = max(self._most, len(self._workers) + self._to_begin)
            self._started += 1
            name = f"{self._task_name}-{self._started - 1}"
            self._group.nursery.start_soon(self._work, errand, name=name)

    async def _work(self, errand: Errand) -> None:
        """Errand after errand; of each what needs a task."""
        worker = Worker(self._spare, errand, surplus=len(self._workers) >= SPARE)
        del errand  # nothing of an errand that is over is held
        self._to_begin -= 1
        self._workers.add(worker)
        try:
            while not (worker.surplus and worker.errand is None):
                await self._work_in_scope(worker)
        finally:
            self._workers.remove(worker)
            self._done += worker.done

    async def _work_in_scope(self, worker: Worker) -> None:
        """As long as nobody cancels the scope."""
        with trio.CancelScope() as worker.scope:
            worker.used = worker.surplus
            while worker.errand is not None or not worker.scope.cancel_called:
                if worker.errand is not None:
                    await worker.errand.run(worker)
                else:
                    worker.wake_up()
                if worker.errand is None:
                    if worker.surplus or worker.scope.cancel_called:
                        return
                    self._spare.append(worker)
                await worker.sleep()

    def _figures(self) -> Figures:
        errands = [worker.errand for worker in self._workers if worker.errand is not None]
        return {
            "working": len(errands) + self._to_begin,
            "parked": sum(errand.is_parked for errand in errands),
            "spare": len(self._spare),
            "capacity": SPARE,
            "high_water": self._most,
            "started": self._started,
            "done": self._done + sum(worker.done for worker in self._workers),
        }
