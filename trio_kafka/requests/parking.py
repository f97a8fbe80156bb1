"""The slot of an async handler: a token that it gives back while it waits for others.

A parked request holds no token: the pool starts another handler task for it. To continue, it takes
a token again, also to learn that its deadline has passed. A request that is cancelled while parked
ends without one.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, Protocol, TypeVar, TypeVarTuple

import trio

from trio_kafka.network.request import Request
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.tokens import Tokens

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class HandlerSlots(Protocol):
    """The group of handlers, as parked requests know it."""

    limiter: Tokens
    elapsed: Callable[[], float]
    complete: Callable[[Delayed], None]

    def one_parked(self) -> None:
        """Note that a handler is parked."""

    def one_returned(self) -> None:
        """Note that a parked handler continues, or ends."""


class Parking:
    """The slot of one async request: with a token, or parked.

    cancel: ends the request. holds: it has a token. is_over: the request is answered; a task that
    it left behind takes no token and does not touch the connection, which may serve its next
    request. plugin: name of the plugin whose interceptor runs, "" for the handler.
    """

    __slots__ = ("_cancel", "_group", "_request", "holds", "is_over", "plugin")

    def __init__(self, group: HandlerSlots, request: Request, cancel: Callable[[], None]) -> None:
        self._group = group
        self._request = request
        self._cancel = cancel
        self.holds = self.is_over = False
        self.plugin = ""

    @property
    def name(self) -> str:
        """Name of the API served, shown for the holder of a token."""
        return str(self._request.route.api.name)

    async def take(self) -> None:
        """Take a token; waits only if none is free. Raises RuntimeError if the request is over."""
        await self._group.limiter.take(self)
        self.holds = True
        if self.is_over:
            self.leave()
            self._refuse()

    def leave(self) -> None:
        """Give the token back, if it holds one."""
        if self.holds:
            self.holds = False
            self._group.limiter.give_back(self)

    def close(self) -> None:
        """End the slot: the request is over."""
        self.is_over = True
        self.leave()

    async def parked(self, wait: Callable[[*Ts], Awaitable[T]], *args: *Ts, deadline: float) -> T:
        """See `Context.parked`."""
        if self.is_over:
            self._refuse()
        if self._request.connection.left:  # the edge will not come again
            self._cancel()
        result: Any = None
        failure: Exception | None = None
        limit = trio.CancelScope(deadline=deadline)
        self._park(self._name_of(wait), self._cancel)
        try:
            with limit:
                result = await wait(*args)
        except Exception as error:  # noqa: BLE001 - raised again below, with a token
            failure = error
        finally:
            self._return()
        await self.take()
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # or it would hold itself, by this frame
        if limit.cancelled_caught:
            raise trio.TooSlowError
        return result  # type: ignore[no-any-return]

    async def completed(self, delayed: Delayed, *, ran: bool) -> Any:
        """Wait for a delayed operation without a token; return what it ended with.

        ran: other tasks may have run since it was made, so it is looked at again.

        The result is a response, an exception, or None if the peer left: then the request is
        cancelled, and None is seen by shielded code only. The request's frame is given back.
        """
        request, purgatory = self._request, delayed.purgatory
        if request.connection.left or request.connection.closed:
            purgatory.drop(delayed)
            self._cancel()
            await trio.lowlevel.checkpoint_if_cancelled()
            return None
        wait = _Wait(delayed)

        def peer_left() -> None:
            self._cancel()
            wait.drop()

        self._park(delayed, peer_left)
        try:
            delayed.since = trio.current_time()
            request.connection.request = request
            request.give_back()
            purgatory.watch(delayed, self._group.complete, wait.finish)
            if ran:
                delayed.marked()  # for changes before it was registered
            if wait.begin():
                await trio.lowlevel.wait_task_rescheduled(wait.abort)
        finally:
            self._return()
        await self.take()
        return wait.answer

    def _park(self, waits_for: Any, peer_left: Callable[[], None]) -> None:
        request, group = self._request, self._group
        stamps = request.stamps
        stamps.handled = stamps.handled or group.elapsed()
        self.leave()
        group.one_parked()
        request.connection.parked = peer_left
        request.waits_for = waits_for

    def _return(self) -> None:
        if not self.is_over:
            self._request.connection.parked = self._request.waits_for = None
        self._group.one_returned()

    def _name_of(self, wait: Any) -> Any:
        """Return what the list of requests shows; with the plugin, if its interceptor waits."""
        if not self.plugin:
            return wait
        name = getattr(wait, "__qualname__", type(wait).__name__)
        return f"{name} in plugin {self.plugin}"

    def _refuse(self) -> NoReturn:
        raise RuntimeError(f"{self.name}: the request has been answered; nothing waits for it")


class _Wait:
    """A task's wait for a delayed operation."""

    __slots__ = ("_delayed", "_is_done", "_task", "answer")

    def __init__(self, delayed: Delayed) -> None:
        self._delayed = delayed
        self._task: trio.lowlevel.Task | None = None
        self._is_done = False
        self.answer: Any = None

    def begin(self) -> bool:
        """Note the task that waits from now on. False: the operation has ended already."""
        if not self._is_done:
            self._task = trio.lowlevel.current_task()
        return not self._is_done

    def finish(self, answer: Any) -> None:
        """Note the end of the operation, as a purgatory tells it."""
        self.answer, self._is_done = answer, True
        if self._task is not None:
            task, self._task = self._task, None
            trio.lowlevel.reschedule(task)

    def drop(self) -> None:
        """End the operation without a result, unless it has ended."""
        if not self._is_done:
            self._delayed.purgatory.drop(self._delayed)

    def abort(self, raise_cancel: object) -> trio.lowlevel.Abort:
        """Drop the operation, as the task is cancelled."""
        del raise_cancel
        self._task = None
        self.drop()
        return trio.lowlevel.Abort.SUCCEEDED
