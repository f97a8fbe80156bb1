"""A part's task with a scope of its own, so that parts can be stopped one after the other."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio
from attrs import define, field


@define(eq=False)
class Running:
    """A task of the broker's nursery. `value` is what it was started with."""

    name: str
    value: Any = None
    _scope: trio.CancelScope = field(factory=trio.CancelScope)
    _ended: trio.Event = field(factory=trio.Event)

    async def stop(self) -> None:
        """Cancel it and wait until it has ended. Idempotent."""
        self._scope.cancel()
        await self._ended.wait()

    async def _run(
        self,
        call: Callable[..., Awaitable[Any]],
        arguments: tuple[Any, ...],
        *,
        task_status: trio.TaskStatus[Any],
    ) -> None:
        try:
            with self._scope:
                await call(*arguments, task_status=task_status)
        finally:
            self._ended.set()


async def start_part(
    nursery: trio.Nursery, name: str, call: Callable[..., Awaitable[Any]], *arguments: Any
) -> Running:
    """Start `call(*arguments, task_status=...)` and wait until it says that it is ready."""
    running = Running(name)
    running.value = await nursery.start(running._run, call, arguments, name=name)  # noqa: SLF001
    return running
