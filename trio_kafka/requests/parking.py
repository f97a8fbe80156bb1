"""The place of an async handler: a token that it gives back while it waits for others.

The pool starts a replacement for whoever parks. To go on, a handler takes a token again, also to be
told that its deadline is over; a handler that was cancelled while parked ends without one.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeVar, TypeVarTuple

import trio

from trio_kafka.network.request import Request
from trio_kafka.purgatory import NO_ANSWER, Delayed

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Places(Protocol):
    """Where there are places: a token each."""

    limiter: trio.CapacityLimiter
    elapsed: Callable[[], float]

    def one_parked(self) -> None:
        """Somebody waits for others."""

    def one_returned(self) -> None:
        """It goes on, or ends."""


class Parking:
    """One async request's place among the handlers."""

    __slots__ = ("_group", "_request", "_result", "_scope", "_waiter", "holds")

    def __init__(self, group: Places, request: Request, scope: trio.CancelScope) -> None:
        self._group = group
        self._request = request
        self._scope = scope
        self._waiter: trio.lowlevel.Task | None = None
        self._result: Any = None
        self.holds = False

    @property
    def name(self) -> str:
        """What is served here, for whoever asks who holds a token."""
        return str(self._request.route.api.name)

    async def take(self) -> None:
        """Take a token; waits only if none is free."""
        try:
            self.take_nowait()
        except trio.WouldBlock:
            await self._group.limiter.acquire_on_behalf_of(self)
            self.holds = True

    def take_nowait(self) -> None:
        """Take a token. Raises trio.WouldBlock if none is free."""
        self._group.limiter.acquire_on_behalf_of_nowait(self)
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

    async def completed(
        self, delayed: Delayed, lane: Callable[[Delayed], None], *, again: bool
    ) -> Any:
        """The answer of a Delayed, waited for without a place; None where there is none.

        again: ask it once it is registered, as somebody may have had a turn since it was made.
        Raises what it ended with. Ends the request if the peer leaves meanwhile. Whoever is
        cancelled in here drops the Delayed.
        """
        request, connection = self._request, self._request.connection
        if connection.left or connection.closed:  # the edge will not come again: nobody to answer
            self._scope.cancel()
            await trio.lowlevel.checkpoint_if_cancelled()
        stamps = request.stamps
        stamps.handled = stamps.handled or self._group.elapsed()
        self._waiter, self._result = trio.lowlevel.current_task(), None
        delayed.purgatory.watch(delayed, lane, self._complete)
        if again:
            delayed.marked()
        connection.parked = partial(delayed.purgatory.drop, delayed)
        connection.request, request.waits_for = request, delayed
        request.give_back()
        self.leave()
        self._group.one_parked()
        try:
            await trio.lowlevel.wait_task_rescheduled(partial(self._abort, delayed))
        finally:
            connection.parked = request.waits_for = None
            self._group.one_returned()
        answer, self._result = self._result, None
        if answer is None:
            await trio.lowlevel.checkpoint_if_cancelled()  # its peer left
        if not self.holds:
            await self.take()
        if isinstance(answer, Exception):
            try:
                raise answer
            finally:
                del answer  # or it would hold itself, by this frame
        return None if answer is NO_ANSWER else answer

    def abandon(self, error: Exception) -> None:
        """Whoever waits in `completed` waits for nothing any more."""
        self._complete(error)

    def _complete(self, answer: Any) -> None:
        """The Delayed has ended. None: it was dropped, as its peer left."""
        if self._waiter is None:
            return
        if answer is None:
            self._scope.cancel()  # which calls `_abort`, unless somebody shields the waiter
        else:
            with suppress(trio.WouldBlock):  # then whoever is woken waits for one
                self.take_nowait()
        waiter, self._waiter, self._result = self._waiter, None, answer
        if waiter is not None:
            trio.lowlevel.reschedule(waiter)

    def _abort(self, delayed: Delayed, raise_cancel: object) -> trio.lowlevel.Abort:
        del raise_cancel
        self._waiter = None
        delayed.purgatory.drop(delayed)
        return trio.lowlevel.Abort.SUCCEEDED
