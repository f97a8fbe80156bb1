"""Handler slot of one async request: a token that is given back while the request is parked.

While a request is parked, the handler group starts another handler task in its place. A parked
request takes a token again before it continues, also when its deadline has passed. A request that
is cancelled while parked ends without a token.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, Protocol, TypeVar, TypeVarTuple

import trio

from trio_kafka.network.request import Request
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.tokens import Tokens

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class SlotOwner(Protocol):
    """Handler group that a slot belongs to."""

    limiter: Tokens
    elapsed: Callable[[], float]
    complete: Callable[[Delayed], None]

    def note_parked(self) -> None:
        """Note that a handler is parked."""

    def note_resumed(self) -> None:
        """Note that a parked handler continues, or ends."""


class HandlerSlot:
    """Slot of one async request, with or without a token.

    scope: of the handler task; cancelling it ends the request.
    holds: true while the slot has a token.
    is_over: the request is answered. A task that it left behind takes no token and does not touch
        the connection, which may serve its next request.
    plugin: name of the plugin whose interceptor runs, or "" for the handler.
    """

    __slots__ = ("_owner", "_request", "_scope", "holds", "is_over", "plugin")

    def __init__(self, owner: SlotOwner, request: Request, scope: trio.CancelScope) -> None:
        self._owner = owner
        self._request = request
        self._scope = scope
        self.holds = self.is_over = False
        self.plugin = ""

    @property
    def name(self) -> str:
        """Name of the API, shown for the holder of a token."""
        return str(self._request.route.api.name)

    async def take(self) -> None:
        """Take a token; waits only if none is free. Raises RuntimeError if the request is over."""
        await self._owner.limiter.take(self)
        self.holds = True
        if self.is_over:
            self.release()
            self._raise_over()

    def release(self) -> None:
        """Give the token back. Idempotent."""
        if self.holds:
            self.holds = False
            self._owner.limiter.give_back(self)

    def close(self) -> None:
        """End the slot, because the request is over. Idempotent."""
        self.is_over = True
        self.release()

    def cancel(self) -> None:
        """End the request, unless it is over: then the task serves another one."""
        if not self.is_over:
            self._scope.cancel()

    async def parked(self, wait: Callable[[*Ts], Awaitable[T]], *args: *Ts, deadline: float) -> T:
        """Await wait(*args) without a token; see `Context.parked`."""
        if self.is_over:
            self._raise_over()
        if self._request.connection.left:  # a second hang-up is not reported
            self.cancel()
        result: Any = None
        failure: Exception | None = None
        limit = trio.CancelScope(deadline=deadline)
        self._park(self._description_of(wait), self.cancel)
        try:
            with limit:
                result = await wait(*args)
        except Exception as error:  # noqa: BLE001 - raised again below, with a token
            failure = error
        finally:
            self._resume()
        await self.take()
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # the exception refers to this frame: break the reference cycle
        if limit.cancelled_caught:
            raise trio.TooSlowError
        return result  # type: ignore[no-any-return]

    async def completed(self, delayed: Delayed, *, has_yielded: bool) -> Any:
        """Wait for a delayed operation without a token; return its result.

        has_yielded: other tasks may have run since the operation was made, so it is checked again.
        The result is a response, an exception, or None if the peer disconnected. In that case the
        request is cancelled, and only shielded code sees the None. The frame of the request is
        given back.
        """
        request, purgatory = self._request, delayed.purgatory
        if request.connection.left or request.connection.closed:
            purgatory.drop(delayed)
            self.cancel()
            await trio.lowlevel.checkpoint_if_cancelled()
            return None
        wait = _DelayedWait(delayed)

        def on_disconnect() -> None:
            self.cancel()
            wait.drop()

        self._park(delayed, on_disconnect)
        try:
            delayed.since = trio.current_time()
            request.connection.request = request
            request.give_back()
            purgatory.watch(delayed, self._owner.complete, wait.finish)
            if has_yielded:
                delayed.marked()  # for changes before it was registered
            if wait.begin():
                await trio.lowlevel.wait_task_rescheduled(wait.abort)
        finally:
            self._resume()
        await self.take()
        return wait.result

    def _park(self, waits_for: Any, on_disconnect: Callable[[], None]) -> None:
        """Give the token back, and mark the request as parked."""
        request, owner = self._request, self._owner
        stamps = request.stamps
        stamps.handled = stamps.handled or owner.elapsed()
        self.release()
        owner.note_parked()
        request.connection.parked = on_disconnect
        request.waits_for = waits_for

    def _resume(self) -> None:
        """Undo `_park`, except for the token."""
        if not self.is_over:
            self._request.connection.parked = self._request.waits_for = None
        self._owner.note_resumed()

    def _description_of(self, wait: Any) -> Any:
        """Return what request lists show, including the plugin if its interceptor waits."""
        if not self.plugin:
            return wait
        name = getattr(wait, "__qualname__", type(wait).__name__)
        return f"{name} in plugin {self.plugin}"

    def _raise_over(self) -> NoReturn:
        raise RuntimeError(
            f"{self.name}: the request has been answered already; do not wait on its context"
        )


class RequestContext(Protocol):
    """Context of a request, as far as interceptors and quotas use it."""

    request: Request
    slot: HandlerSlot | None


class _DelayedWait:
    """Wait of one task for a delayed operation. result: of the operation."""

    __slots__ = ("_delayed", "_is_done", "_task", "result")

    def __init__(self, delayed: Delayed) -> None:
        self._delayed = delayed
        self._task: trio.lowlevel.Task | None = None
        self._is_done = False
        self.result: Any = None

    def begin(self) -> bool:
        """Store the current task, which waits next. Return False if the operation has ended."""
        if not self._is_done:
            self._task = trio.lowlevel.current_task()
        return not self._is_done

    def finish(self, result: Any) -> None:
        """Store the result and wake the task; called by the purgatory."""
        self.result, self._is_done = result, True
        if self._task is not None:
            task, self._task = self._task, None
            trio.lowlevel.reschedule(task)

    def drop(self) -> None:
        """End the operation without a result, unless it has ended."""
        if not self._is_done:
            self._delayed.purgatory.drop(self._delayed)

    def abort(self, raise_cancel: object) -> trio.lowlevel.Abort:
        """Drop the operation, because the task is cancelled."""
        del raise_cancel
        self._task = None
        self.drop()
        return trio.lowlevel.Abort.SUCCEEDED
