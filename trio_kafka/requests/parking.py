"""The place of an async handler: a token that it gives back while it waits for others.

The pool starts a replacement for whoever parks. To go on, a handler takes a token again, also to be
told that its deadline is over; a handler that was cancelled while parked ends without one.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, Protocol, TypeVar, TypeVarTuple

import trio

from trio_kafka.network.request import Request
from trio_kafka.requests.tokens import Tokens

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Places(Protocol):
    """Where there are places: a token each."""

    limiter: Tokens
    elapsed: Callable[[], float]

    def one_parked(self) -> None:
        """Somebody waits for others."""

    def one_returned(self) -> None:
        """It goes on, or ends."""


class Place:
    """One async request's place among the handlers: with a token, or parked.

    _group, _request: where it is, and whose it is. holds: a token. _cancel: ends what is parked.
    is_over: the request is answered; a task that it has left behind takes no token any more, and
    leaves the connection, which may have its next request, alone.
    """

    __slots__ = ()

    _group: Places
    _request: Request
    holds: bool
    is_over: bool
    _cancel: Callable[[], None]

    @property
    def name(self) -> str:
        """What is served here, for whoever asks who holds a token."""
        return str(self._request.route.api.name)

    async def take(self) -> None:
        """Take a token; waits only if none is free. Raises RuntimeError if it is over by then."""
        await self._group.limiter.take(self)
        self.holds = True  # type: ignore[misc]  # who has a place has room for it
        if self.is_over:
            self.leave()
            self._refuse()

    def leave(self) -> None:
        """Give the token back, if there is one."""
        if self.holds:
            self.holds = False  # type: ignore[misc]  # the same
            self._group.limiter.give_back(self)

    def name_wait(self, wait: Any) -> Any:
        """What is shown of the request while it is parked; a function by its name."""
        return wait

    async def parked(self, wait: Callable[[*Ts], Awaitable[T]], *args: *Ts, deadline: float) -> T:
        """See `Context.parked`."""
        if self.is_over:
            self._refuse()
        connection = self._request.connection
        if connection.left:  # its edge will not come again
            self._cancel()
        stamps = self._request.stamps
        stamps.handled = stamps.handled or self._group.elapsed()
        self.leave()
        self._group.one_parked()
        connection.parked = self._cancel
        self._request.waits_for = self.name_wait(wait)
        result: Any = None
        failure: Exception | None = None
        try:
            with trio.CancelScope(deadline=deadline) as limit:
                try:
                    result = await wait(*args)
                except Exception as error:  # noqa: BLE001 - raised again below, with a token
                    failure = error
        finally:
            if not self.is_over:
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

    def _refuse(self) -> NoReturn:
        raise RuntimeError(f"{self.name}: the request has been answered; nothing waits for it")


class Parking(Place):
    """The place of an async handler."""

    __slots__ = ("_cancel", "_group", "_request", "holds", "is_over")

    def __init__(self, group: Places, request: Request, cancel: Callable[[], None]) -> None:
        self._group = group
        self._request = request
        self._cancel = cancel
        self.holds = self.is_over = False

    def close(self) -> None:
        """The request is over, in whatever way."""
        self.is_over = True
        self.leave()
