"""Request that a task serves for a plugin, so that a long wait of the plugin can park it.

An async handler or `around` holds a token of the handler group. While it waits for another request
of the same broker, it must give the token back: if all handlers waited like this, no task would be
left to serve what they wait for.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import wraps
from inspect import iscoroutinefunction
from typing import Final, TypeVar

import trio

from trio_kafka.requests.context import Context

T = TypeVar("T")
# The task is kept with the context: a task that a handler started must not park its request.
_SERVED: Final[ContextVar[tuple[trio.lowlevel.Task, Context] | None]] = ContextVar(
    "served request", default=None
)


def serving(function: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    """Wrap an async handler or `around`, whose second argument is the context of its request.

    Any other function stays as it is: the registry of interceptors rejects it.
    """
    call = getattr(function, "__call__", None)  # noqa: B004 - async or not is asked, not called
    if not (iscoroutinefunction(function) or iscoroutinefunction(call)):
        return function

    @wraps(function)
    async def serve(request: object, context: Context, *forward: object) -> object:
        token = _SERVED.set((trio.lowlevel.current_task(), context))
        try:
            return await function(request, context, *forward)
        finally:
            _SERVED.reset(token)

    return serve


async def parked(wait: Callable[[], Awaitable[T]]) -> T:
    """Await `wait()`. A request that this task serves is parked meanwhile.

    Such a request is cancelled if its peer disconnects, as in `Context.parked`.
    """
    served = _SERVED.get()
    if served is None or served[0] is not trio.lowlevel.current_task() or served[1].slot is None:
        return await wait()
    return await served[1].parked(wait)
