"""Adjacent `before`s and `after`s around what they share: a handler, or an `around`.

`after`s see messages: a response given as bytes is decoded, errors are responses, and a delayed
response is seen once it is there. No response (acks=0), or a connection that is to be closed, is
not shown. An interceptor that fails costs its request, and its owner is told.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from types import GeneratorType
from typing import Any, Final, TypeVar

from trio_kafka.attributes import frozen
from trio_kafka.purgatory import NO_ANSWER, Delayed
from trio_kafka.requests.context import Context
from trio_kafka.requests.error_answers import wants_answer
from trio_kafka.requests.failures import Failures, check_answer, tell_late
from trio_kafka.requests.interceptors.registry import Interception
from trio_kafka.requests.large_requests import LARGE, LAZY
from trio_kafka.requests.materialize import has_ranges, opened, release_ranges
from trio_kafka.requests.replies import Encoded, Route
from trio_kafka.scheduling.chunked_work import Steps, whole

T = TypeVar("T")
BEFORE: Final = "before"
_PASSED: Final = object()  # no `before` has given a response
# `after`s, innermost first, each with its function.
Afters = tuple[tuple[Interception, Callable[..., Any]], ...]


@frozen
class ChainDependencies:
    """Parts of the handler group that chains use. run_steps: runs steps in slices."""

    elapsed: Callable[[], float]
    failures: Failures
    run_steps: Callable[[Steps[Any]], Awaitable[Any]]


class BeforeAfter:
    """Adjacent `before`s and `after`s of a route. layers: outermost first, without an `around`.

    inner: a handler or what stands in its place, async if `waits`; then so is `serve`.
    """

    def __init__(
        self,
        route: Route,
        inner: Callable[..., Any],
        layers: Sequence[Interception],
        dependencies: ChainDependencies,
        *,
        waits: bool,
    ) -> None:
        self._route = route
        self._inner = inner
        self._elapsed = dependencies.elapsed
        self._failures = dependencies.failures
        self._response = route.api.response
        self._has_ranges = has_ranges(route.api.response)
        self._afters = _afters_of(layers)
        self._befores = tuple(
            (one, one.function, _afters_of(layers[:n]))
            for n, one in enumerate(layers)
            if one.kind == BEFORE
        )
        self.serve: Callable[[Any, Any], Any] = self._serve_waiting if waits else self._serve

    def _serve(self, message: Any, context: Context) -> Any:
        answer = self._enter(message, context)
        if answer is not _PASSED:
            return answer
        if not self._afters:
            return self._inner(message, context)
        made = LAZY.made
        try:
            answer = self._inner(message, context)
        except Exception as error:  # noqa: BLE001 - judged
            answer = self._say(message, context, error)
        return self._leave(message, context, answer, made)

    async def _serve_waiting(self, message: Any, context: Context) -> Any:
        answer = self._enter(message, context)
        if answer is not _PASSED:
            return answer
        if not self._afters:
            return await self._inner(message, context)
        made = LAZY.made
        try:
            answer = await self._inner(message, context)
        except Exception as error:  # noqa: BLE001 - judged
            answer = self._say(message, context, error)
        return self._leave(message, context, answer, made)

    # --- on the way in

    def _enter(self, message: Any, context: Context) -> Any:
        """Call the `before`s, outermost first; return the first response, or _PASSED."""
        if not self._befores:
            return _PASSED
        elapsed, stamps = self._elapsed, context.request.stamps
        began = now = elapsed()
        for one, call, outer in self._befores:
            try:
                answer = call(message, context)
                then = elapsed()
                spent, now = then - now, then
                if answer is None and not stamps.answered:
                    self._count(one, spent)
                    continue
                self._check(one, answer, context)
                self._count(one, spent)
            except BaseException as error:  # noqa: BLE001 - ends here, whatever it is
                then = elapsed()
                stamps.plugin_s += then - began
                answer = self._blame(one, message, context, error, then - now)
            else:
                stamps.plugin_s += now - began
            # A request without a response has none to show.
            return self._show(message, context, answer, outer) if wants_answer(message) else None
        stamps.plugin_s += now - began
        return _PASSED

    # --- on the way out

    def _leave(self, message: Any, context: Context, answer: Any, lazy: int) -> Any:
        """Show the `after`s whatever a handler gave. lazy: `LAZY.made` before it did."""
        kind = type(answer)
        if kind is self._response and LAZY.made == lazy:
            return self._show(message, context, answer, self._afters)
        if kind is Delayed:
            answer.try_complete = partial(self._complete, message, context, answer.try_complete)
        elif kind is Encoded and len(answer.body) <= LARGE:
            answer = whole(opened(self._route, answer))
            return self._show(message, context, answer, self._afters)
        elif kind in (GeneratorType, Encoded) or isinstance(answer, self._response):
            return self._leave_in_steps(message, context, answer, lazy)
        return answer  # delayed, none, or not a response: the pool says so

    def _leave_in_steps(self, message: Any, context: Context, answer: Any, lazy: int) -> Steps[Any]:
        try:
            if type(answer) is GeneratorType:
                answer = yield from answer
                if type(answer) is Delayed or answer is None or answer is NO_ANSWER:
                    return self._leave(message, context, answer, lazy)
            answer = yield from opened(self._route, answer)
        except Exception as error:  # noqa: BLE001 - judged
            answer = self._say(message, context, error)
        return self._show(message, context, answer, self._afters)

    def _complete(
        self,
        message: Any,
        context: Context,
        try_complete: Callable[[bool], Any],
        timed_out: bool,
    ) -> Any:
        """Complete a delayed response, in the place of its `try_complete`."""
        made = LAZY.made
        try:
            answer = try_complete(timed_out)
        except Exception as error:  # noqa: BLE001 - judged
            answer = self._say(message, context, error)
        return None if answer is None else self._leave(message, context, answer, made)

    def _show(self, message: Any, context: Context, answer: Any, afters: Afters) -> Any:
        """Call `after`s, innermost first, and return the response that they leave."""
        elapsed, stamps = self._elapsed, context.request.stamps
        began = now = elapsed()
        for one, call in afters:
            try:
                made = call(message, answer, context)
                then = elapsed()
                spent, now = then - now, then
                if made is not None or stamps.answered:
                    self._check(one, made, context)
                self._count(one, spent)
            except BaseException as error:  # noqa: BLE001 - ends here, whatever it is
                if self._has_ranges:
                    release_ranges(answer)
                then = elapsed()
                answer = self._blame(one, message, context, error, then - now)
                now = elapsed()
                continue
            if made is not None:
                if made is not answer and self._has_ranges:
                    release_ranges(answer, unless=made)
                answer = made
        stamps.plugin_s += now - began
        return answer

    # --- failures

    def _say(self, message: Any, context: Context, error: Exception) -> Any:
        """Return the response for a handler's error."""
        request = context.request
        code, text = self._failures.judge(request, self._route, error)
        return self._failures.answer(request, self._route, message, code, text)

    def _blame(
        self,
        one: Interception,
        message: Any,
        context: Context,
        error: BaseException,
        spent: float,
    ) -> Any:
        """Return the response for what an interceptor raised."""
        self._count(one, spent)
        request = context.request
        code, text = self._failures.blame(one, request, self._route, error)
        return self._failures.answer(request, self._route, message, code, text)

    def _count(self, one: Interception, spent: float) -> None:
        one.calls += 1
        one.seconds += spent
        if spent > one.alarm_s and one.note_slow(spent):
            tell_late(one, self._route.api.name, spent)

    def _check(self, one: Interception, answer: Any, context: Context) -> None:
        check_answer(one, self._route, answer, context.request)


def _afters_of(layers: Sequence[Interception]) -> Afters:
    """Return the `after`s of layers, innermost first."""
    return tuple((one, one.function) for one in reversed(layers) if one.kind != BEFORE)
