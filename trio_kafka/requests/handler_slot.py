"""Handler slot of one async request: a token that is given back while the request is parked.

While a request is parked, the handler group starts another handler task in its place. A parked
request takes a token again before it continues, also when its deadline has passed. A request that
is cancelled while parked ends without a token. If its wait has ended and it is cancelled while it
waits for the token, the result is discarded here, as no other code has it.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, Protocol, TypeVar, TypeVarTuple

import trio

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.network.request import Request
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.materialize import discard
from trio_kafka.requests.parked_call import ParkedCall
from trio_kafka.requests.tokens import Tokens
from trio_kafka.scheduling.loop_budget import LoopBudget

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class SlotOwner(Protocol):
    """Handler group that a slot belongs to."""

    limiter: Tokens
    budget: LoopBudget
    complete: Callable[[Delayed[object]], None]

    def note_parked(self) -> None:
        """Note that a handler is parked."""

    def note_resumed(self) -> None:
        """Note that a parked handler continues, or ends."""


@define(eq=False)
class HandlerSlot:
    """Slot of one async request, with or without a token.

    scope: of the handler task; cancelling it ends the request.
    holds: true while the slot has a token.
    is_over: the request is answered. A task that it left behind takes no token and does not touch
        the connection, which may serve its next request.
    error: response of a request that was cancelled; None: the peer has disconnected.
    plugin, function: plugin whose interceptor or handler runs, and its function; "" and None for a
        handler of the broker.
    """

    _owner: SlotOwner
    _request: Request
    _scope: trio.CancelScope
    _result: object = None
    error: KafkaError | None = None
    holds: bool = False
    is_over: bool = False
    plugin: str = ""
    function: object = None

    @property
    def request(self) -> Request:
        """Request that is served."""
        return self._request

    @property
    def name(self) -> str:
        """Name of the API, shown for the holder of a token."""
        return str(self._request.route.api.name)

    async def take(self) -> None:
        """Take a token; waits only if none is free. Raises RuntimeError if the request is over."""
        tokens = self._owner.limiter
        if not tokens.take_nowait(self):
            await tokens.take(self)
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

    def cancel(self, error: KafkaError | None = None) -> None:
        """End the request, unless it is over: then the task serves another one."""
        if not self.is_over:
            self.error = self.error or error
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
        since = self._owner.budget.time
        self._park(ParkedCall(wait, args, self.plugin, since, deadline), self.cancel)
        try:
            with limit:
                result = await wait(*args)
        except Exception as error:  # noqa: BLE001 - raised again below, with a token
            failure = error
        finally:
            self._resume()
        await self._take_for(result)
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # the exception refers to this frame: break the reference cycle
        if limit.cancelled_caught:
            raise trio.TooSlowError
        return result  # type: ignore[no-any-return]

    async def completed(self, delayed: Delayed[object], *, has_yielded: bool) -> object:
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
        task = trio.lowlevel.current_task()

        def finish(result: object) -> None:
            self._result = result
            trio.lowlevel.reschedule(task)

        def drop() -> None:
            self.cancel()
            purgatory.drop(delayed)

        def abort(raise_cancel: object) -> trio.lowlevel.Abort:
            del raise_cancel
            delayed.finish = None  # the cancellation resumes the task
            purgatory.drop(delayed)
            return trio.lowlevel.Abort.SUCCEEDED

        self._park(delayed, drop)
        try:
            delayed.since = self._owner.budget.time
            request.connection.request = request
            request.give_back()
            purgatory.watch(delayed, self._owner.complete, finish)
            if has_yielded:
                delayed.marked()  # for changes before it was registered
            await trio.lowlevel.wait_task_rescheduled(abort)
        finally:
            self._resume()
        result, self._result = self._result, None
        await self._take_for(result)
        return result

    async def _take_for(self, result: object) -> None:
        """Take a token for a task that goes on with `result`; discard it if there is none."""
        try:
            await self.take()
        except BaseException:
            discard(result)
            raise

    def _park(self, waits_for: object, on_disconnect: Callable[[], None]) -> None:
        """Give the token back, and mark the request as parked."""
        request, owner = self._request, self._owner
        stamps = request.stamps
        stamps.handled = stamps.handled or owner.budget.elapsed()
        self.release()
        owner.note_parked()
        request.connection.parked = on_disconnect
        request.waits_for = waits_for

    def _resume(self) -> None:
        """Undo `_park`, except for the token."""
        if not self.is_over:
            self._request.connection.parked = self._request.waits_for = None
        self._owner.note_resumed()

    def _raise_over(self) -> NoReturn:
        raise RuntimeError(
            f"{self.name}: the request has been answered already; do not wait on its context"
        )


class RequestContext(Protocol):
    """Context of a request, as far as interceptors and quotas use it."""

    request: Request
    slot: HandlerSlot | None
