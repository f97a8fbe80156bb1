"""`around`: an async interceptor, an ordinary coroutine in the handler task of its request.

An interceptor returns a response: a message, or its bytes (`Encoded`). With NO_ANSWER the request
stays without a response.

`forward` returns the response of everything further in: a message, also an error response, or None
if there is none. It may be called once, with a request of the same class, in the interceptor's task
or in one that it started. It raises KafkaError for an API whose responses cannot carry an error.

A request in `forward` or in `Context.parked` holds no handler token, and is cancelled when its peer
disconnects; otherwise it continues. The deadline and the limit of an interceptor do not count the
time in `forward`.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final, NoReturn

import trio

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, ProtocolError
from trio_kafka.pending import NO_ANSWER, Work
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.error_answers import wants_answer
from trio_kafka.requests.failures import split_cancelled
from trio_kafka.requests.handler_slot import HandlerSlot, RequestContext
from trio_kafka.requests.interceptors.before_after import ChainDependencies
from trio_kafka.requests.interceptors.contract import Contract
from trio_kafka.requests.interceptors.registry import Interception, InterceptorError
from trio_kafka.requests.lazy_arrays import LAZY_ARRAYS
from trio_kafka.requests.materialize import discard, has_ranges, materialized, release_ranges
from trio_kafka.requests.parked_call import LimitTurn
from trio_kafka.requests.replies import Encoded, Route

_NEVER: Final = float("inf")
_NOT_FORWARDED: Final = object()  # in the place of the inner response
_NOT_ANSWERABLE: Final = (InvariantError, ProtocolError, InterceptorError)


class Around:
    """One `around` of a route. inner: everything further in, async if `inner_waits`."""

    def __init__(
        self,
        route: Route,
        interception: Interception,
        inner: Callable[..., Any],
        dependencies: ChainDependencies,
        *,
        inner_waits: bool,
    ) -> None:
        self.route = route
        self.interception = interception
        self.inner = inner
        self.inner_waits = inner_waits
        self.dependencies = dependencies
        self.contract = Contract(route, dependencies.errors)
        self.has_ranges = has_ranges(route.api.response)

    def serve(self, message: object, context: RequestContext) -> Coroutine[object, object, object]:
        """Serve a request in the place of an async handler."""
        if context.slot is None:
            raise RuntimeError("an `around` needs a context with a handler slot: serve it async")
        left_s = self.interception.deadline_s
        return _AroundCall(self, message, context, context.slot, left_s).run()


@define(eq=False)
class _AroundCall:
    """One call of an `around`, for one request.

    left_s: what is left of the deadline on the interceptor's own time; None: it has none.
    scope: its own cancel scope, if it has a deadline; others share that of the handler task.
    began: on the stamps' clock; moved on by the time spent in `forward`.
    final_error: outcome, whatever the interceptor does.
    delayed: operation that `forward` waits for.
    """

    _around: Around
    _message: object
    _context: RequestContext
    _slot: HandlerSlot
    _left_s: float | None
    _scope: trio.CancelScope | None = None
    _began: float = 0.0
    _is_cut_off: bool = False
    _is_forwarded: bool = False
    _is_over: bool = False
    _inner_response: object = _NOT_FORWARDED
    _final_error: Exception | None = None
    _delayed: Delayed[object] | None = None
    _outer_plugin: str = ""

    def cancel(self) -> None:
        """Cancel the call because its owner stops; the client gets an error."""
        self._is_cut_off = True
        if self._scope is None:
            self._slot.cancel(self._cancellation_error())
        else:
            self._scope.cancel()

    async def run(self) -> object:
        """Call the interceptor; return the response, or None if there is none.

        Raises KafkaError, ProtocolError, InvariantError, Cancelled.
        """
        interception, slot = self._around.interception, self._slot
        if interception.limiter is not None:
            await self._acquire(interception.limiter)
        in_flight = interception.owner.in_flight
        if in_flight is not None:
            in_flight.enter()
            in_flight.hold(self)
        returned: object = None
        failure: BaseException | None = None
        self._outer_plugin, slot.plugin = slot.plugin, interception.owner.name
        slot.function = interception.function
        self._began = self._around.dependencies.elapsed()
        try:
            if self._left_s is None:
                returned = await interception.function(self._message, self._context, self.forward)
            else:
                with trio.CancelScope() as self._scope:
                    self._start_deadline()
                    returned = await interception.function(
                        self._message, self._context, self.forward
                    )
        except BaseException as error:  # noqa: BLE001 - becomes a response
            failure = error
        finally:
            self._end()
            if in_flight is not None:
                in_flight.drop(self)
                in_flight.leave()
        has_forwarded = failure is None and returned is self._inner_response
        if has_forwarded and not (self._is_cut_off or self._context.request.stamps.answered):
            return returned
        try:
            return self._outcome(returned, failure)
        finally:
            failure = None  # the exception refers to this frame: break the reference cycle

    # --- the outcome of the call

    def _outcome(self, returned: object, failure: BaseException | None) -> object:
        """Return the response for what the interceptor returned or raised."""
        is_cancelled = self._scope is not None and self._scope.cancelled_caught
        try:
            if failure is not None:
                cancelled, failure = split_cancelled(failure)
                if cancelled is not None and self._is_cut_off and self._scope is None:
                    is_cancelled = True
                elif cancelled is not None:
                    if failure is not None:
                        self._respond_to(failure)
                    raise cancelled
            if self._final_error is not None:
                failure, self._final_error = self._final_error, None
                raise failure
            if is_cancelled:
                failure = self._cancellation_error()
            response = self._checked(returned) if failure is None else self._respond_to(failure)
        except BaseException:
            self._release_unsent(None)
            raise
        else:
            self._release_unsent(response)
            return response
        finally:
            cancelled = failure = None  # they refer to this frame: break the reference cycle

    def _checked(self, returned: object) -> object:
        """Return the response for what the interceptor returned."""
        request, interception = self._context.request, self._around.interception
        if (returned is NO_ANSWER or type(returned) is Encoded) and not request.stamps.answered:
            return None if returned is NO_ANSWER else returned
        inner = None if self._inner_response is _NOT_FORWARDED else self._inner_response
        is_silent = returned is None and self._is_forwarded and inner is None
        if not is_silent or request.stamps.answered:
            try:
                self._around.contract.check(interception, returned, request)
            except Exception as error:  # noqa: BLE001 - becomes a response
                return self._respond_to(error)
        return returned if inner is not None or wants_answer(self._message) else None

    def _respond_to(self, error: BaseException) -> object:
        """Return the response for what the interceptor raised; report a bug to its owner."""
        interception, request = self._around.interception, self._context.request
        return self._around.contract.respond_to(interception, request, self._message, error)

    def _cancellation_error(self) -> KafkaError:
        interception = self._around.interception
        reason = "stops"
        if not self._is_cut_off:
            reason = f"took too long: want at most {interception.deadline_s} s of its own"
            self._around.contract.report_late(interception, "did not end in time")
        return KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{interception.owner.name} {reason}")

    def _release_unsent(self, response: object) -> None:
        """Release the file ranges of the inner response that `response` does not send."""
        inner, self._inner_response = self._inner_response, None
        is_message = inner is not None and inner is not _NOT_FORWARDED
        if self._around.has_ranges and is_message and inner is not response:
            release_ranges(inner, unless=None if type(response) is Encoded else response)

    def _end(self) -> None:
        """Count the call, and end a `forward` that still waits in another task."""
        self._is_over = True
        self._release()
        self._slot.plugin = self._outer_plugin
        interception = self._around.interception
        spent_s = self._around.dependencies.elapsed() - self._began
        interception.calls += 1
        interception.seconds += spent_s
        if spent_s > interception.alarm_s:
            interception.note_slow(spent_s)
        self._context.request.stamps.plugin_s += spent_s
        if self._delayed is not None:
            self._delayed.purgatory.drop(self._delayed)

    # --- forward

    async def forward(self, message: object) -> object:
        """Return the response from further in; see the module."""
        around = self._around
        self._check_forward(message)
        self._is_forwarded = True
        elapsed, limiter = around.dependencies.elapsed, around.interception.limiter
        began, lazy_arrays = elapsed(), LAZY_ARRAYS.created
        slot, plugin = self._slot, self._slot.plugin
        slot.plugin = ""
        self._stop_deadline()
        self._release()
        try:
            try:
                response = around.inner(message, self._context)
                if around.inner_waits:
                    response = await response
                response = await self._message_of(response, lazy_arrays)
            except _NOT_ANSWERABLE as error:
                if not isinstance(error, InterceptorError):
                    self._final_error = error
                raise
            except Exception as error:  # noqa: BLE001 - a response, unless the API has none for it
                response = around.dependencies.errors.respond_to(
                    self._context.request, around.route, message, error
                )
            finally:
                self._delayed = None
            if self._is_over:
                discard(response)
                self._raise_over()
            self._inner_response = response
            if limiter is not None:
                await self._acquire(limiter)
        finally:
            self._began += elapsed() - began
            if not self._is_over:
                slot.plugin, slot.function = plugin, around.interception.function
                self._start_deadline()
        return response

    def _raise_over(self) -> NoReturn:
        raise InterceptorError(
            f"{self._where}: the request has been answered; await `forward` before you return"
        )

    def _check_forward(self, message: object) -> None:
        if self._is_forwarded or self._is_over:
            raise InterceptorError(f"{self._where}: forward is called again, or after the response")
        expected = self._around.route.api.request
        if type(message) is not expected:
            actual = type(message).__name__
            raise InterceptorError(f"{self._where}: forwards {actual}, want {expected.__name__}")

    async def _message_of(self, result: Any, lazy_arrays: int) -> Any:
        """Wait for what a handler returned; return a message, or None if there is no response.

        lazy_arrays: `LAZY_ARRAYS.created` before the handler was called.
        Raises the exception that ended a Delayed. The result is discarded on cancellation.
        """
        dependencies, route = self._around.dependencies, self._around.route
        has_yielded = self._around.inner_waits
        while (kind := type(result)) is Work or kind is Delayed:
            if kind is Work:  # also of a Delayed that is completed in slices
                result, has_yielded = await dependencies.run_steps(result.steps), True
            else:
                self._delayed = result
                result = await self._slot.completed(result, has_yielded=has_yielded)
        if kind is route.api.response and LAZY_ARRAYS.created == lazy_arrays:
            return result
        if isinstance(result, Exception):
            raise result
        if result is None or result is NO_ANSWER:
            await trio.lowlevel.checkpoint_if_cancelled()
            return None
        try:
            return await dependencies.run_steps(materialized(route, result))
        except BaseException:
            discard(result)
            raise

    # --- deadline and limit

    def _start_deadline(self) -> None:
        if self._scope is not None and self._left_s is not None:
            self._scope.deadline = trio.current_time() + self._left_s

    def _stop_deadline(self) -> None:
        if self._scope is not None:
            self._left_s = self._scope.deadline - trio.current_time()
            self._scope.deadline = _NEVER

    async def _acquire(self, limiter: trio.CapacityLimiter) -> None:
        """Wait, parked, until the limit of the interceptor allows one more call."""
        try:
            limiter.acquire_on_behalf_of_nowait(self)
        except trio.WouldBlock:
            try:
                turn = LimitTurn(limiter, self, self._around.interception.owner.name)
                await self._slot.parked(turn.take, deadline=_NEVER)
                if self._is_over:  # this is another task, and the call has not waited for it
                    self._raise_over()
            except BaseException:
                self._release()  # the limit, if only the handler token was not to be had
                raise

    def _release(self) -> None:
        limiter = self._around.interception.limiter
        if limiter is not None and self in limiter.statistics().borrowers:
            limiter.release_on_behalf_of(self)

    @property
    def _where(self) -> str:
        interception = self._around.interception
        return f"{interception.owner.name} {interception.where(self._around.route.api.name)}"
