"""The tasks of errands: requests that an async interceptor has in hand.

To the pool an errand is what it delays: it stands in a Delayed, as its one key. Its task takes a
token of the group's limiter, as an async handler does. When an errand is over its task is kept for
the next, with its cancel scope, as long as nobody used that: to wake a task costs a third of
starting one, and a scope as much as both.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

import trio
from attrs import define

from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.tokens import Tokens
from trio_kafka.steps import Steps

T = TypeVar("T")
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

    async def run(self, scope: trio.CancelScope) -> bool:
        """Do it. False: nobody is there for an answer. Raises InvariantError alone."""

    def leave_request(self) -> None:
        """Nobody is there for an answer: be cancelled."""


@define(eq=False)
class _Worker:
    task: trio.lowlevel.Task
    given: "tuple[Delayed, Callable[[Any], None]] | None" = None


class Errands:
    """Of a group of handlers; implements `purgatory.Keeper` and `parking.Places`."""

    name: Final = "Interceptors"

    def __init__(self, group: Group, task_name: str, node: Node) -> None:
        self._group = group
        self._task_name = task_name
        self.limiter = group.limiter
        self.elapsed = group.elapsed
        self.complete = group.complete
        self.all_of = group.all_of
        self._spare: list[_Worker] = []
        self._working = self._parked = self._started = self._done = self._most = 0
        node.add("interceptor-tasks", "part", self._figures)

    # --- as a keeper of what is delayed

    def watch(
        self,
        delayed: Delayed,
        lane: Callable[[Delayed], None],
        finish: Callable[[Any], None],
    ) -> None:
        """Begin with the errand, in a task. finish: as a purgatory's."""
        del lane
        self._working += 1
        self._most = max(self._most, self._working)
        if self._spare:
            worker = self._spare.pop()
            worker.given = delayed, finish
            trio.lowlevel.reschedule(worker.task)
        else:
            self._started += 1
            name = f"{self._task_name}-{self._started - 1}"
            self._group.nursery.start_soon(self._work, delayed, finish, name=name)

    def look(self, delayed: Delayed) -> None:
        """Nothing marks an errand."""

    def drop(self, delayed: Delayed) -> None:
        """Nobody is there for an answer."""
        for errand in delayed.keys:
            errand.leave_request()  # type: ignore[attr-defined]  # the key is an errand

    # --- as those who have places

    def one_parked(self) -> None:
        self._parked += 1

    def one_returned(self) -> None:
        self._parked -= 1

    # --- tasks

    async def _work(self, delayed: Delayed, finish: Callable[[Any], None]) -> None:
        """Errand after errand."""
        worker = _Worker(trio.lowlevel.current_task(), (delayed, finish))
        del delayed, finish  # nothing of an errand that is over is held
        spare = self._spare

        def abort(raise_cancel: object) -> trio.lowlevel.Abort:
            del raise_cancel
            spare.remove(worker)
            return trio.lowlevel.Abort.SUCCEEDED

        while True:
            with trio.CancelScope() as scope:
                while not scope.cancel_called:
                    if worker.given is None:
                        if len(spare) >= SPARE:
                            return
                        spare.append(worker)
                        await trio.lowlevel.wait_task_rescheduled(abort)
                    await self._do(worker, scope)

    async def _do(self, worker: _Worker, scope: trio.CancelScope) -> None:
        given, worker.given = worker.given, None
        if given is None:
            return
        delayed, finish = given
        try:
            wanted = await delayed.keys[0].run(scope)  # type: ignore[attr-defined]  # as in `drop`
        except BaseException:
            if scope.cancel_called:
                finish(None)
            raise
        finally:
            self._working -= 1
            self._done += 1
            delayed.keys = ()  # what gives its answer has it: no cycle
        finish(_answer_of(delayed) if wanted else None)

    def _figures(self) -> Figures:
        return {
            "working": self._working,
            "parked": self._parked,
            "spare": len(self._spare),
            "capacity": SPARE,
            "high_water": self._most,
            "started": self._started,
            "done": self._done,
        }


def _answer_of(delayed: Delayed) -> Any:
    """What whoever waits for a Delayed is given: the answer, or why there is none."""
    try:
        return delayed.try_complete(False)
    except Exception as error:  # noqa: BLE001 - whoever waits for it answers for it
        return error
