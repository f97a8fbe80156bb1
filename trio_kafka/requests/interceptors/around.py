"""`around`: an async interceptor, an ordinary coroutine in the handler task of its request.

`forward` returns the response of everything further in: a message, also an error response, or None
if there is none. It may be called once, with a request of the same class, in the interceptor's task
or in one that it started. It raises KafkaError for an API whose responses cannot carry an error.

A request in `forward` or in `Context.parked` holds no handler token, and is cancelled when its peer
leaves; one that runs continues. Time in `forward` is not the interceptor's own: neither its
deadline nor its limit counts it.
"""

from collections.abc import Callable, Coroutine
from types import GeneratorType
from typing import Any, Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, ProtocolError
from trio_kafka.purgatory import NO_ANSWER, Delayed
from trio_kafka.requests.context import Context
from trio_kafka.requests.error_answers import wants_answer
from trio_kafka.requests.failures import check_answer, split_cancelled, tell_owner
from trio_kafka.requests.interceptors.before_after import ChainDependencies
from trio_kafka.requests.interceptors.registry import Interception, InterceptorError
from trio_kafka.requests.large_requests import LAZY
from trio_kafka.requests.materialize import has_ranges, opened, release_ranges
from trio_kafka.requests.replies import Route

_NEVER: Final = float("inf")
_UNASKED: Final = object()  # in the place of a response that `forward` has not returned
_NOT_ANSWERABLE: Final = (InvariantError, ProtocolError, InterceptorError)


@frozen(kw_only=True)
class Around:
    """One `around` of a route. inner: everything further in, async if `inner_waits`."""

    route: Route
    one: Interception
    inner: Callable[..., Any]
    inner_waits: bool
    dependencies: ChainDependencies
    has_ranges: bool

    def serve(self, message: Any, context: Context) -> Coroutine[Any, Any, Any]:
        """Serve a request in the place of an async handler."""
        return _Call(self, message, context).run()


def around_of(
    route: Route,
    one: Interception,
    inner: Callable[..., Any],
    dependencies: ChainDependencies,
    *,
    inner_waits: bool,
) -> Around:
    """Return an `around` before `inner`."""
    return Around(
        route=route,
        one=one,
        inner=inner,
        inner_waits=inner_waits,
        dependencies=dependencies,
        has_ranges=has_ranges(route.api.response),
    )


class _Call:
    """One call of an `around`, for one request."""

    __slots__ = (
        "_around",
        "_began",
        "_context",
        "_cut_off",
        "_delayed",
        "_error",
        "_forwarded",
        "_inner",
        "_is_over",
        "_left_s",
        "_message",
        "_outer",
        "_scope",
    )

    def __init__(self, around: Around, message: Any, context: Context) -> None:
        self._around = around
        self._message = message
        self._context = context
        self._scope = trio.CancelScope()
        self._left_s = around.one.deadline_s  # of the interceptor's own time
        self._began = 0.0  # by the stamps' clock, later by the time spent in `forward`
        self._cut_off = self._forwarded = self._is_over = False
        self._inner: Any = _UNASKED  # what `forward` returned
        self._error: Exception | None = None  # ends the request, whatever the interceptor does
        self._delayed: Delayed | None = None  # what `forward` waits for
        self._outer = ""

    def cancel(self) -> None:
        """Cut the call off, as its owner stops: the request is answered with an error."""
        self._cut_off = True
        self._scope.cancel()

    async def run(self) -> Any:
        """Call the interceptor and return the response; None: there is none.

        Raises KafkaError, ProtocolError, InvariantError, Cancelled.
        """
        one, slot = self._around.one, self._slot
        if one.limiter is not None:
            await self._enter(one.limiter)
        in_flight = one.owner.in_flight
        if in_flight is not None:
            in_flight.enter()
            in_flight.hold(self)
        answer: Any = None
        failure: BaseException | None = None
        self._outer, slot.plugin = slot.plugin, one.owner.name
        self._began = self._around.dependencies.elapsed()
        self._start_deadline()
        try:
            with self._scope:
                answer = await one.function(self._message, self._context, self.forward)
        except BaseException as error:  # noqa: BLE001 - judged below
            failure = error
        finally:
            self._end()
            if in_flight is not None:
                in_flight.drop(self)
                in_flight.leave()
        try:
            return self._judge(answer, failure)
        finally:
            failure = None  # or an exception would hold itself, by this frame

    # --- what becomes of the call

    def _judge(self, answer: Any, failure: BaseException | None) -> Any:
        """Return the response for what the interceptor returned, or raised."""
        stamps = self._context.request.stamps
        plain = failure is None and not self._scope.cancelled_caught
        if plain and answer is self._inner and not stamps.answered:
            return answer  # it has only forwarded
        try:
            if failure is not None:
                cancelled, failure = split_cancelled(failure)
                if cancelled is not None:
                    if failure is not None:
                        self._blame(failure)
                    raise cancelled
            if self._error is not None:
                failure, self._error = self._error, None
                raise failure
            if self._scope.cancelled_caught:
                failure = self._why_cancelled()
            answer = self._checked(answer) if failure is None else self._blame(failure)
        except BaseException:
            self._keep(None)
            raise
        else:
            return self._keep(answer)
        finally:
            cancelled = failure = None  # or an exception would hold itself, by this frame

    def _checked(self, answer: Any) -> Any:
        """Return the response for what the interceptor returned."""
        around, request = self._around, self._context.request
        inner = None if self._inner is _UNASKED else self._inner
        silent = answer is None and self._forwarded and inner is None
        if not silent or request.stamps.answered:
            try:
                check_answer(around.one, around.route, answer, request)
            except Exception as error:  # noqa: BLE001 - the interceptor's failure
                return self._blame(error)
        return answer if inner is not None or wants_answer(self._message) else None

    def _blame(self, error: BaseException) -> Any:
        """Return the response for what the interceptor raised; its owner is told."""
        around, request, message = self._around, self._context.request, self._message
        failures = around.dependencies.failures
        code, text = failures.blame(around.one, request, around.route, error)
        return failures.answer(request, around.route, message, code, text)

    def _why_cancelled(self) -> KafkaError:
        one = self._around.one
        why = "stops"
        if not self._cut_off:
            why = "took too long"
            one.late += 1
            late = trio.TooSlowError(f"more than {one.deadline_s} s of its own")
            tell_owner(one, self._around.route.api.name, late)
        return KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{one.owner.name} {why}")

    def _keep(self, answer: Any) -> Any:
        """Release the file ranges of the inner response that are not sent."""
        inner, self._inner = self._inner, None
        if self._around.has_ranges and inner not in (None, _UNASKED) and inner is not answer:
            release_ranges(inner, unless=answer)
        return answer

    def _end(self) -> None:
        """Count the call, and end a `forward` that still waits in another task."""
        self._is_over = True
        self._release()
        self._slot.plugin = self._outer
        one = self._around.one
        spent = self._around.dependencies.elapsed() - self._began
        one.calls += 1
        one.seconds += spent
        if spent > one.alarm_s:
            one.note_slow(spent)
        self._context.request.stamps.plugin_s += spent
        if self._delayed is not None:
            self._delayed.purgatory.drop(self._delayed)

    # --- forward

    async def forward(self, message: Any) -> Any:
        """Return the response from further in; see the module."""
        around = self._around
        self._check_forward(message)
        self._forwarded = True
        elapsed = around.dependencies.elapsed
        began, made = elapsed(), LAZY.made
        slot, plugin = self._slot, self._slot.plugin
        slot.plugin = ""
        self._stop_deadline()
        self._release()
        try:
            try:
                answer = around.inner(message, self._context)
                if around.inner_waits:
                    answer = await answer
                if type(answer) is Delayed:
                    self._delayed = answer
                    answer = await slot.completed(answer, ran=around.inner_waits)
                if type(answer) is not around.route.api.response or LAZY.made != made:
                    answer = await self._opened(answer)
            except _NOT_ANSWERABLE as error:
                if not isinstance(error, InterceptorError):
                    self._error = error
                raise
            except Exception as error:  # noqa: BLE001 - a response, unless the API has none for it
                failures, request = around.dependencies.failures, self._context.request
                code, text = failures.judge(request, around.route, error)
                answer = failures.answer(request, around.route, message, code, text)
            finally:
                self._delayed = None
            if self._is_over:
                raise InterceptorError(f"{self._where}: the request has been answered")
            self._inner = answer
            if around.one.limiter is not None:
                await self._enter(around.one.limiter)
        finally:
            self._began += elapsed() - began
            if not self._is_over:
                slot.plugin = plugin
                self._start_deadline()
        return answer

    def _check_forward(self, message: Any) -> None:
        if self._forwarded or self._is_over:
            raise InterceptorError(f"{self._where}: forward is called again, or after the answer")
        want = self._around.route.api.request
        if type(message) is not want:
            found = type(message).__name__
            raise InterceptorError(f"{self._where}: forwards {found}, want {want.__name__}")

    async def _opened(self, answer: Any) -> Any:
        """Return a response as a message; None: there is none. Raises what further in raised."""
        dependencies, route = self._around.dependencies, self._around.route
        if type(answer) is GeneratorType:
            answer = await dependencies.run_steps(answer)
            if type(answer) is Delayed:
                self._delayed = answer
                answer = await self._slot.completed(answer, ran=True)
        if isinstance(answer, Exception):
            raise answer
        if answer is None or answer is NO_ANSWER:
            await trio.lowlevel.checkpoint_if_cancelled()
            return None
        return await dependencies.run_steps(opened(route, answer))

    # --- deadline and limit

    def _start_deadline(self) -> None:
        if self._left_s is not None:
            self._scope.deadline = trio.current_time() + self._left_s

    def _stop_deadline(self) -> None:
        if self._left_s is not None:
            self._left_s = self._scope.deadline - trio.current_time()
            self._scope.deadline = _NEVER

    async def _enter(self, limiter: trio.CapacityLimiter) -> None:
        """Take a place under the interceptor's limit, parked while there is none."""
        try:
            limiter.acquire_on_behalf_of_nowait(self)
        except trio.WouldBlock:
            await self._slot.parked(limiter.acquire_on_behalf_of, self, deadline=_NEVER)

    def _release(self) -> None:
        limiter = self._around.one.limiter
        if limiter is not None and self in limiter.statistics().borrowers:
            limiter.release_on_behalf_of(self)

    @property
    def _slot(self) -> Any:
        return self._context.parking

    @property
    def _where(self) -> str:
        one = self._around.one
        return f"{one.owner.name} {one.where(self._around.route.api.name)}"
