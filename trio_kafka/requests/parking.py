"""The place of an async handler: a token that it gives back while it waits for others.

The pool starts a replacement for whoever parks. To go on, a handler takes a token again, also to be
told that its deadline is over; a handler that was cancelled while parked ends without one.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import trio

from trio_kafka.network.request import Request

if TYPE_CHECKING:
    from trio_kafka.requests.pool import HandlerGroup

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Parking:
    """One async request's place among the handlers."""

    __slots__ = ("_group", "_request", "_scope", "holds")

    def __init__(self, group: "HandlerGroup", request: Request, scope: trio.CancelScope) -> None:
        self._group = group
        self._request = request
        self._scope = scope
        self.holds = False

    async def take(self) -> None:
        """Take a token; waits only if none is free."""
        try:
            self._group.limiter.acquire_on_behalf_of_nowait(self)
        except trio.WouldBlock:
            await self._group.limiter.acquire_on_behalf_of(self)
        self.holds = True

    def leave(self) -> None:
        """Give the token back, if there is one."""
        if self.holds:
            self.holds = False
            self._group.limiter.release_on_behalf_of(self)

    async def parked(self, wait: Callable[[*Ts], Awaitable[T]], *args: *Ts, deadline: float) -> T:
        """See `Context.parked`."""
        connection = self._request.connection
        if connection.left:  # its edge will not come again
            self._scope.cancel()
        stamps = self._request.stamps
        stamps.handled = stamps.handled or self._group.elapsed()
        self.leave()
        self._group.one_parked()
        connection.parked = self._scope.cancel
        self._request.waits_for = wait
        result: Any = None
        failure: Exception | None = None
        try:
            with trio.CancelScope(deadline=deadline) as limit:
                try:
                    result = await wait(*args)
                except Exception as error:  # noqa: BLE001 - raised again below, with a token
                    failure = error
        finally:
            connection.parked = self._request.waits_for = None
            self._group.one_returned()
        await self.take()
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # or it would hold itself, by this frame
        if limit.cancelled_caught:
            raise trio.TooSlowError
        return result  # type: ignore[no-any-return]
