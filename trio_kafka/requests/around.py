"""`around`s: a request in the hands of an async interceptor is an errand, in a task of its own.

The inner handler, if it is plain, is called in the errand's task; when it delays, the task waits in
`forward` and gives its token back: so a parked request costs a task, not a handler. A request whose
peer leaves while it is parked, in `forward` or by `Context.parked`, is cancelled; one that runs
goes on. Whoever is cancelled in `forward` drops what it waits for.

`forward` may be called once, with a request of the same class. It gives a message, an error answer
too, or None where there is no answer; it raises KafkaError for an API that cannot say errors. The
time in it is not the interceptor's: neither deadline nor limit count it.

An errand is on the way of each parked request of its API: few calls, and few objects.
"""

from collections.abc import Callable
from types import GeneratorType
from typing import Any, Final

import trio

from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, ProtocolError
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


def _nothing() -> None:
    """What cancels an errand that is in no task."""


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
        # Whether something is taken before the interceptor runs, and given back in `forward`.
        self.is_bounded = one.limiter is not None or one.deadline_s is not None

    def serve(self, message: Any, context: Context) -> Delayed:
        """In the place of a plain handler."""
        errand = AroundErrand(self, message, context)
        return Delayed((errand,), _NEVER, errand.give, purgatory=self.errands)


class AroundErrand(Parking):
    """One request on its way through one `around`. It is its own place among the errands."""

    __slots__ = (
        "_answer",
        "_around",
        "_began",
        "_context",
        "_delayed",
        "_error",
        "_forwarded",
        "_frame",
        "_inner_answer",
        "_left",
        "_limit",
        "_message",
        "_own_s",
        "_result",
        "_waiter",
    )

    def __init__(self, around: Around, message: Any, context: Context) -> None:
        request = context.request
        super().__init__(around.errands, request, _nothing)
        self._around = around
        self._message = message
        self._context = context
        # Whoever parks a request gives its frame back: not this one, until the handler has read it.
        self._frame, request.frame = request.frame, None
        self._forwarded = self._left = False
        self._began = self._own_s = 0.0  # of the interceptor's own time: the part that goes on; all
        self._limit: trio.CancelScope | None = None
        self._delayed: Delayed | None = None  # that is waited for in `forward`, by this task:
        self._waiter: trio.lowlevel.Task | None = None
        self._result: Any = None  # for it
        self._inner_answer: Any = None  # what `forward` gave
        self._answer: Any = None
        self._error: Exception | None = None  # what becomes of the request instead

    @property
    def at(self) -> str:
        """What is told of whoever waits for it."""
        one = self._around.one
        return f"{one.owner.name} {one.where(self._around.route.api.name)}"

    def give(self, timed_out: bool) -> Any:
        """The answer, when it is over: the `try_complete` of the Delayed that stands for this."""
        del timed_out
        if self._error is not None:
            raise self._error
        return NO_ANSWER if self._answer is None else self._answer

    def leave_request(self) -> None:
        """Nobody is there for an answer."""
        self._left = True
        self._cancel()

    # --- its task

    async def run(self, scope: trio.CancelScope) -> bool:
        """Do it. False: nobody is there for an answer."""
        if self._left:
            return False
        around, request = self._around, self._request
        self._cancel = scope.cancel
        self._context.parking = self
        request.connection.parked = request.waits_for = None
        request.stamps.handled = 0.0  # what was until now was no parking
        try:
            await self.take()
            if around.is_bounded:
                answer = await self._call_within_bounds()
            else:
                self._began = around.elapsed()
                answer = await around.one.function(self._message, self._context, self.forward)
            self._accept(answer)
        except BaseException as error:  # noqa: BLE001 - it is judged
            self._blame(error)
        finally:
            self._end()
        return True

    async def _call_within_bounds(self) -> Any:
        around = self._around
        one = around.one
        if one.limiter is not None:
            await self._enter(one.limiter)
        self._began = around.elapsed()
        if one.deadline_s is None:
            return await one.function(self._message, self._context, self.forward)
        with trio.CancelScope(deadline=trio.current_time() + one.deadline_s) as self._limit:
            return await one.function(self._message, self._context, self.forward)
        one.late += 1
        late = trio.TooSlowError(f"more than {one.deadline_s} s of its own")
        tell_owner(one, around.route.api.name, late)
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{one.owner.name} took too long")

    def _accept(self, answer: Any) -> None:
        around, request = self._around, self._request
        silent = answer is None and self._forwarded and self._inner_answer is None
        if not silent or request.stamps.answered:
            check_answer(around.one, around.route, answer, request)
        self._answer = answer if wants_answer(self._message) else None

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
            try:
                raise cancelled
            finally:
                del cancelled, rest, error  # or they would hold themselves, by this frame

    def _keep(self, error: Exception) -> None:
        """This is what becomes of the request, whatever the interceptor makes of it."""
        error.__traceback__ = error.__context__ = error.__cause__ = None  # they hold this
        self._error = error

    def _end(self) -> None:
        """It is over, in whatever way."""
        around = self._around
        one = around.one
        spent = self._own_s
        if self._began:
            spent += around.elapsed() - self._began
        one.counted += 1
        one.seconds += spent
        if spent > one.alarm_s:
            one.note_slow(spent)
        self._request.stamps.plugin_s += spent
        if self._delayed is not None:  # somebody else's task waits in `forward`
            delayed, waiter = self._delayed, self._waiter
            self._unpark()
            delayed.purgatory.drop(delayed)
            self._result = InterceptorError(f"{self.at}: the request has been answered")
            if waiter is not None:
                trio.lowlevel.reschedule(waiter)
        if around.is_bounded:
            self._exit()
        self.leave()
        inner = self._inner_answer
        if around.has_ranges and inner is not None and inner is not self._answer:
            release_ranges(inner, unless=self._answer)
        self._forwarded = True
        self._cancel = _nothing
        self._inner_answer = self._limit = self._context.parking = None

    # --- what the interceptor calls

    async def forward(self, message: Any) -> Any:  # noqa: C901, PLR0912 - calls cost more
        """The answer from further in; see the module."""
        around, request = self._around, self._request
        if self._forwarded or not isinstance(message, around.route.api.request):
            raise self._misused(message)
        self._forwarded = True
        self._own_s += around.elapsed() - self._began
        self._began = 0.0
        left_s = self._give_back() if around.is_bounded else 0.0
        request.frame, self._frame = self._frame, None
        again, made = around.inner_waits, Lazily.made
        answer: Any
        try:
            if again:
                answer = await around.inner(message, self._context)
            else:
                answer = around.inner(message, self._context)
            if type(answer) is GeneratorType:
                answer, again = await around.errands.all_of(answer), True
            if type(answer) is Delayed:
                if self._park(answer, again=again):
                    await trio.lowlevel.wait_task_rescheduled(self._abort)
                answer, self._result = self._result, None
                if answer is None:  # its peer has left
                    await trio.lowlevel.checkpoint_if_cancelled()
                elif type(answer) is InterceptorError:
                    raise answer
                # Not earlier: many are woken at once, and run one after the other.
                await self.take()
                if type(answer) is GeneratorType:
                    answer = await around.errands.all_of(answer)
                if isinstance(answer, Exception):
                    raise answer
            if type(answer) is Encoded or (Lazily.made != made and answer is not None):
                answer = await around.errands.all_of(opened(around.route, answer))
        except (InvariantError, ProtocolError, InterceptorError) as error:
            answer = None  # or it would hold itself, by this frame
            if not isinstance(error, InterceptorError):
                self._keep(error)
            raise
        except Exception as error:  # noqa: BLE001 - it is judged
            answer = self._say(message, error)
        self._inner_answer = answer = None if answer is NO_ANSWER else answer
        if around.is_bounded:
            await self._take_again(left_s)
        self._began = around.elapsed()
        return answer

    def _misused(self, message: Any) -> InterceptorError:
        if self._forwarded:
            return InterceptorError(f"{self.at}: forward is called again, or after the answer")
        found, want = type(message).__name__, self._around.route.api.request.__name__
        return InterceptorError(f"{self.at}: forwards {found}, want {want}")

    def _say(self, message: Any, error: Exception) -> Any:
        """The error of what is further in, as an answer."""
        failures, route = self._around.failures, self._around.route
        code, text = failures.judge(self._request, route, error)
        return failures.answer(self._request, route, message, code, text)

    # --- a Delayed that is waited for

    def _park(self, delayed: Delayed, *, again: bool) -> bool:
        """Wait for it without a place. False: its peer has left. again: it may have changed."""
        around, request = self._around, self._request
        connection = request.connection
        if connection.left or connection.closed:  # the edge will not come again: nobody to answer
            self._cancel()
            return False
        stamps = request.stamps
        stamps.handled = stamps.handled or around.elapsed()
        self._delayed, self._waiter = delayed, trio.lowlevel.current_task()
        delayed.since = trio.current_time()
        delayed.purgatory.watch(delayed, around.errands.complete, self._complete)
        if again:
            delayed.marked()
        connection.parked = self._drop
        connection.request, request.waits_for = request, delayed
        request.give_back()
        self.leave()
        around.errands.one_parked()
        return True

    def _complete(self, answer: Any) -> None:
        """It has ended. None: it was dropped, as its peer left."""
        if self._waiter is not None and answer is None:
            self._cancel()  # which calls `_abort`, unless somebody shields the waiter
        waiter = self._waiter
        if waiter is not None:
            self._result = answer
            self._unpark()
            trio.lowlevel.reschedule(waiter)

    def _abort(self, raise_cancel: object) -> trio.lowlevel.Abort:
        """Whoever waits is cancelled."""
        del raise_cancel
        delayed = self._delayed
        self._unpark()
        if delayed is not None:
            delayed.purgatory.drop(delayed)
        return trio.lowlevel.Abort.SUCCEEDED

    def _drop(self) -> None:
        if self._delayed is not None:
            self._delayed.purgatory.drop(self._delayed)

    def _unpark(self) -> None:
        request = self._request
        request.connection.parked = request.waits_for = None
        self._delayed = self._waiter = None
        self._around.errands.one_returned()

    # --- deadline and limit

    async def _enter(self, limiter: trio.CapacityLimiter) -> None:
        """Be one of those who run at once; who waits for that is parked."""
        try:
            limiter.acquire_on_behalf_of_nowait(self)
        except trio.WouldBlock:
            await self.parked(limiter.acquire_on_behalf_of, self, deadline=_NEVER)

    def _exit(self) -> None:
        limiter = self._around.one.limiter
        if limiter is not None and self in limiter.statistics().borrowers:
            limiter.release_on_behalf_of(self)

    def _give_back(self) -> float:
        """What follows is not the interceptor's. Gives what is left of its deadline."""
        self._exit()
        if self._limit is None:
            return _NEVER
        left_s = self._limit.deadline - trio.current_time()
        self._limit.deadline = _NEVER
        return left_s

    async def _take_again(self, left_s: float) -> None:
        if self._around.one.limiter is not None:
            await self._enter(self._around.one.limiter)
        if self._limit is not None:
            self._limit.deadline = trio.current_time() + left_s
