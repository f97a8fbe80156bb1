"""`around`s: a request in the hands of an async interceptor is an errand, in a task of its own.

The inner handler, if it is plain, is called in the errand's task; when it delays, the task waits in
`forward` and gives its token back: so a parked request costs a task, not a handler. A request whose
peer leaves while it is parked, in `forward` or by `Context.parked`, is cancelled; one that runs
goes on.

`forward` may be called once, with a request of the same class. It gives a message, an error answer
too, or None where there is no answer; it raises KafkaError for an API that cannot say errors. The
time in it is not the interceptor's: neither deadline nor limit count it.
"""

from collections.abc import Callable
from types import GeneratorType
from typing import Any, Final

import trio

from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, ProtocolError
from trio_kafka.network.request import Request
from trio_kafka.purgatory import NO_ANSWER, Delayed
from trio_kafka.requests.context import Context
from trio_kafka.requests.errands import Errands
from trio_kafka.requests.error_answers import wants_answer
from trio_kafka.requests.failures import check_answer, split_cancelled, tell_owner
from trio_kafka.requests.interceptors import Interception, InterceptorError
from trio_kafka.requests.links import Means
from trio_kafka.requests.opening import has_ranges, opened, release_ranges
from trio_kafka.requests.parking import Parking
from trio_kafka.requests.replies import Encoded, Route
from trio_kafka.requests.slices import Lazily

_NEVER: Final = float("inf")


class Around:
    """One `around` of a route; `inner`: what lies within, async if `inner_waits`."""

    def __init__(
        self,
        route: Route,
        one: Interception,
        inner: Callable[..., Any],
        means: Means,
        errands: Errands,
        *,
        inner_waits: bool,
    ) -> None:
        self.route = route
        self.one = one
        self.inner = inner
        self.inner_waits = inner_waits
        self.elapsed = means.elapsed
        self.failures = means.failures
        self.errands = errands
        self.has_ranges = has_ranges(route.api.response)

    def serve(self, message: Any, context: Context) -> Delayed:
        """In the place of a plain handler."""
        errand = AroundErrand(self, message, context)
        return Delayed((errand,), _NEVER, errand.give, purgatory=self.errands)

    @property
    def where(self) -> str:
        return self.one.where(self.route.api.name)


class AroundErrand:
    """One request on its way through one `around`."""

    __slots__ = (
        "_answer",
        "_around",
        "_began",
        "_context",
        "_error",
        "_forwarded",
        "_frame",
        "_inner_answer",
        "_left",
        "_limit",
        "_message",
        "_own_s",
        "_parking",
        "_request",
        "_running",
        "_scope",
    )

    def __init__(self, around: Around, message: Any, context: Context) -> None:
        self._around = around
        self._message = message
        self._context = context
        self._request: Request = context.request
        # Whoever parks a request gives its frame back: not this one, until the handler has read it.
        self._frame, self._request.frame = self._request.frame, None
        self._answer: Any = None
        self._inner_answer: Any = None
        self._error: Exception | None = None
        self._forwarded = self._running = self._left = False
        self._scope: trio.CancelScope | None = None
        self._limit: trio.CancelScope | None = None
        self._parking: Parking | None = None
        self._began = self._own_s = 0.0

    @property
    def at(self) -> str:
        """What is told of whoever waits for it."""
        return f"{self._around.one.owner.name} {self._around.where}"

    def give(self, timed_out: bool) -> Any:
        """The answer, when it is over: the `try_complete` of the Delayed that stands for this."""
        del timed_out
        if self._error is not None:
            raise self._error
        return NO_ANSWER if self._answer is None else self._answer

    def leave(self) -> None:
        """Nobody is there for an answer."""
        self._left = True
        if self._scope is not None and not self._running:
            self._scope.cancel()

    # --- its task

    async def run(self, scope: trio.CancelScope) -> bool:
        """Do it. False: nobody is there for an answer."""
        request = self._request
        if self._left:
            scope.cancel()
            return False
        self._scope, self._running = scope, True
        request.connection.parked = request.waits_for = None
        request.stamps.handled = 0.0  # what was until now was no parking
        parking = self._parking = Parking(self._around.errands, request, scope)
        try:
            await parking.take()
            await self._call(Context(request, self._context.parts, parking))
        except BaseException as error:  # noqa: BLE001 - it is judged
            self._blame(error)
        finally:
            self._end(parking)
        return True

    async def _call(self, context: Context) -> None:
        one = self._around.one
        if one.limiter is not None:
            await self._enter(one.limiter)
        self._began = self._around.elapsed()
        if one.deadline_s is None:
            answer = await one.function(self._message, context, self.forward)
        else:
            with trio.CancelScope(deadline=trio.current_time() + one.deadline_s) as self._limit:
                answer = await one.function(self._message, context, self.forward)
            if self._limit.cancelled_caught:
                late = trio.TooSlowError(f"more than {one.deadline_s} s of its own")
                tell_owner(one, self._around.route.api.name, late)
                raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{one.owner.name} took too long")
        silent = answer is None and self._forwarded and self._inner_answer is None
        if not silent or self._request.stamps.answered:
            check_answer(one, self._around.route, answer, self._request)
        self._answer = answer if wants_answer(self._message) else None

    async def _enter(self, limiter: trio.CapacityLimiter) -> None:
        """Be one of those who run at once; who waits for that is parked."""
        try:
            limiter.acquire_on_behalf_of_nowait(self)
        except trio.WouldBlock:
            self._running = False
            await self._place.parked(limiter.acquire_on_behalf_of, self, deadline=_NEVER)
            self._running = True

    def _exit(self) -> None:
        limiter = self._around.one.limiter
        if limiter is not None and self in limiter.statistics().borrowers:
            limiter.release_on_behalf_of(self)

    def _blame(self, error: BaseException) -> None:
        """What becomes of an exception. Raises what cancels this."""
        cancelled, rest = split_cancelled(error)
        if rest is not None and self._error is None:
            around, request, message = self._around, self._request, self._message
            try:
                code, text = around.failures.blame(around.one, request, around.route, rest)
                self._answer = around.failures.answer(request, around.route, message, code, text)
            except (KafkaError, ProtocolError, InvariantError) as answer:
                self._keep(answer)
        if cancelled is not None:
            raise cancelled

    def _keep(self, error: Exception) -> None:
        """This is what becomes of the request, whatever the interceptor makes of it."""
        error.__traceback__ = error.__context__ = error.__cause__ = None  # they hold this
        self._error = error

    def _end(self, parking: Parking) -> None:
        """It is over, in whatever way."""
        around = self._around
        one = around.one
        if self._began:
            self._own_s += around.elapsed() - self._began
        one.calls += 1
        one.seconds += self._own_s
        if self._own_s > one.alarm_s:
            one.note_slow(self._own_s)
        self._request.stamps.plugin_s += self._own_s
        self._exit()
        if self._forwarded:
            parking.abandon(InterceptorError(f"{self.at}: the request has been answered"))
        parking.leave()
        inner = self._inner_answer
        if around.has_ranges and inner is not None and inner is not self._answer:
            release_ranges(inner, unless=self._answer)
        self._forwarded, self._running = True, False
        self._scope = self._limit = self._inner_answer = None

    # --- what the interceptor calls

    async def forward(self, message: Any) -> Any:
        """The answer from further in; see the module."""
        self._check_forward(message)
        self._forwarded = True
        left_s = self._pause()
        self._request.frame, self._frame = self._frame, None
        try:
            answer = await self._ask(message)
        except (InvariantError, ProtocolError) as error:
            self._keep(error)
            raise
        except Exception as error:  # noqa: BLE001 - it is judged
            answer = self._say(message, error)
        self._inner_answer = answer
        await self._go_on(left_s)
        return answer

    async def _ask(self, message: Any) -> Any:
        """Whatever is further in, up to its message."""
        around, made = self._around, Lazily.made
        if around.inner_waits:
            context = Context(self._request, self._context.parts, self._place)
            answer = await around.inner(message, context)
        else:
            answer = around.inner(message, self._context)
        again = around.inner_waits
        if type(answer) is GeneratorType:
            answer, again = await around.errands.all_of(answer), True
        if type(answer) is Delayed:
            complete = around.errands.complete
            answer = await self._place.completed(answer, complete, again=again)
            if type(answer) is GeneratorType:
                answer = await around.errands.all_of(answer)
        if type(answer) is Encoded or (Lazily.made != made and answer is not None):
            answer = await around.errands.all_of(opened(around.route, answer))
        return answer

    def _check_forward(self, message: Any) -> None:
        if self._forwarded:
            raise InterceptorError(f"{self.at}: forward is called again, or after the answer")
        request = self._around.route.api.request
        if not isinstance(message, request):
            found = type(message).__name__
            raise InterceptorError(f"{self.at}: forwards {found}, want {request.__name__}")

    def _pause(self) -> float:
        """What follows is not the interceptor's. Gives what is left of its deadline."""
        now = self._around.elapsed()
        self._own_s += now - self._began
        self._began = 0.0
        self._exit()
        if self._limit is None:
            return _NEVER
        left_s = self._limit.deadline - trio.current_time()
        self._limit.deadline = _NEVER
        return left_s

    async def _go_on(self, left_s: float) -> None:
        if self._around.one.limiter is not None:
            await self._enter(self._around.one.limiter)
        if self._limit is not None:
            self._limit.deadline = trio.current_time() + left_s
        self._began = self._around.elapsed()

    def _say(self, message: Any, error: Exception) -> Any:
        """The error of what is further in, as an answer."""
        failures, route = self._around.failures, self._around.route
        code, text = failures.judge(self._request, route, error)
        return failures.answer(self._request, route, message, code, text)

    @property
    def _place(self) -> Parking:
        if self._parking is None:
            raise InterceptorError(f"{self.at}: it has not begun")
        return self._parking
