"""Named tasks of a broker: they can be stopped one by one, and the first failure ends the broker.

A task that fails before it is started raises in `start`. A later failure is kept in `failure` and
cancels `guard`, so that the owner of the broker can stop it in order.
"""

from collections.abc import Awaitable, Callable

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import only_leaf


def _itself(error: Exception) -> Exception:
    return error


@define(eq=False)
class _Task:
    cause: Callable[[Exception], Exception]
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    ended: trio.Event = field(factory=trio.Event)


class Tasks:
    """Running tasks by name.

    failure: of the first task that failed after its start, unwrapped from groups of one.
    guard: cancel scope for the start and run of the broker.
    """

    def __init__(self, nursery: trio.Nursery) -> None:
        self.failure: Exception | None = None
        self.guard = trio.CancelScope()
        self._nursery = nursery
        self._tasks: dict[str, _Task] = {}

    async def start(
        self,
        name: str,
        call: Callable[..., Awaitable[object]],
        *arguments: object,
        cause: Callable[[Exception], Exception] = _itself,
    ) -> object:
        """Start `call(*arguments, task_status=...)`; return its start value.

        cause: returns the failure that an exception of the task stands for.
        Raises its failure before it is started.
        """
        task = self._tasks[name] = _Task(cause)
        return await self._nursery.start(self._run, task, call, arguments, name=name)

    async def stop(self, *names: str) -> None:
        """Cancel these tasks one after the other, waiting for each to end. Idempotent."""
        await trio.lowlevel.checkpoint()
        for name in names:
            if name in self._tasks:
                self._tasks[name].scope.cancel()
                await self._tasks[name].ended.wait()

    def runs(self, name: str) -> bool:
        """Return True if the task was started and has not ended."""
        return name in self._tasks and not self._tasks[name].ended.is_set()

    @property
    def running(self) -> tuple[str, ...]:
        """Names of the running tasks, in start order."""
        return tuple(filter(self.runs, self._tasks))

    def fail(self, error: Exception) -> None:
        """Record a failure that the broker cannot survive; the first one counts."""
        if self.failure is None:
            self.failure = only_leaf(error)
        self.guard.cancel()

    async def _run(
        self,
        task: _Task,
        call: Callable[..., Awaitable[object]],
        arguments: tuple[object, ...],
        *,
        task_status: trio.TaskStatus[object],
    ) -> None:
        status = _Status(task_status)
        try:
            with task.scope:
                await call(*arguments, task_status=status)
        except Exception as error:
            failure = task.cause(error)
            if failure is not error:
                failure.__cause__ = error
            if status.ready:
                self.fail(failure)
            elif failure is error:
                raise
            else:
                raise failure from error
        finally:
            task.ended.set()


class _Status:
    """Task status that remembers if it was started."""

    def __init__(self, inner: trio.TaskStatus[object]) -> None:
        self.ready = False
        self._inner = inner

    def started(self, value: object = None) -> None:
        self._inner.started(value)
        self.ready = True
