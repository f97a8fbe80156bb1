"""Neighbouring `before`s and `after`s around what they share: a handler, or an `around` with what
lies within.

`after`s see messages: what the handler gives as bytes is read, errors are answers, and of what is
waited for the answer is seen when it is there. No answer (acks=0), or a connection that is to be
closed, is nothing to see. An interceptor that fails costs its request, and its owner is told.
"""

from collections.abc import Callable, Sequence
from functools import partial
from types import GeneratorType
from typing import Any, Final

from attrs import frozen

from trio_kafka.purgatory import NO_ANSWER, Delayed
from trio_kafka.requests.context import Context
from trio_kafka.requests.error_answers import wants_answer
from trio_kafka.requests.failures import Failures, check_answer, tell_late
from trio_kafka.requests.interceptors import Interception
from trio_kafka.requests.opening import has_ranges, opened, release_ranges
from trio_kafka.requests.replies import Encoded, Route
from trio_kafka.requests.slices import LARGE, Lazily
from trio_kafka.steps import Steps, whole

BEFORE: Final = "before"
# Those that see an answer, innermost first, each with what is called.
Afters = tuple[tuple[Interception, Callable[..., Any]], ...]


@frozen
class Means:
    """What chains need of the group that runs them."""

    elapsed: Callable[[], float]
    failures: Failures


class Link:
    """`layers`: outermost first; no `around` among them."""

    def __init__(
        self,
        route: Route,
        inner: Callable[..., Any],
        layers: Sequence[Interception],
        means: Means,
    ) -> None:
        self._route = route
        self._inner = inner
        self._elapsed = means.elapsed
        self._failures = means.failures
        self._response = route.api.response
        self._has_ranges = has_ranges(route.api.response)
        self._afters = _afters_of(layers)
        self._befores = tuple(
            (one, one.function, _afters_of(layers[:n]))
            for n, one in enumerate(layers)
            if one.kind == BEFORE
        )

    def serve(self, message: Any, context: Context) -> Any:
        """In the place of a plain handler."""
        if self._befores:
            answer = self._enter(message, context)
            if answer is not None:
                return None if answer is NO_ANSWER else answer
        if not self._afters:
            return self._inner(message, context)
        made = Lazily.made
        try:
            answer = self._inner(message, context)
        except Exception as error:  # noqa: BLE001 - it is judged
            answer = self._say(message, context, error)
        return self._leave(message, context, answer, made)

    async def serve_waiting(self, message: Any, context: Context) -> Any:
        """In the place of an async handler."""
        if self._befores:
            answer = self._enter(message, context)
            if answer is not None:
                return None if answer is NO_ANSWER else answer
        if not self._afters:
            return await self._inner(message, context)
        made = Lazily.made
        try:
            answer = await self._inner(message, context)
        except Exception as error:  # noqa: BLE001 - it is judged
            answer = self._say(message, context, error)
        return self._leave(message, context, answer, made)

    # --- on the way in

    def _enter(self, message: Any, context: Context) -> Any:
        """The answer of the first `before` that has one, as those outside of it leave it."""
        elapsed, stamps = self._elapsed, context.request.stamps
        began = now = elapsed()
        one, _, outer = self._befores[0]
        try:
            for one, call, outer in self._befores:  # noqa: B007 - of the one that ends the loop
                answer = call(message, context)
                if answer is not None or stamps.answered:
                    self._check(one, answer, context)
                then = elapsed()
                spent, now = then - now, then
                one.calls += 1
                one.seconds += spent
                if spent > one.alarm_s:
                    self._note_slow(one, spent)
                if answer is not None:
                    break
            else:
                stamps.plugin_s += now - began
                return None
        except BaseException as error:  # noqa: BLE001 - it ends here, whatever it is
            answer = self._blame(one, message, context, error, elapsed() - now)
        stamps.plugin_s += elapsed() - began
        return self._show(message, context, answer, outer) if wants_answer(message) else NO_ANSWER

    # --- on the way out

    def _leave(self, message: Any, context: Context, answer: Any, lazy: int) -> Any:
        """What the `after`s make of whatever a handler gave. lazy: `Lazily.made` before it did."""
        kind = type(answer)
        if kind is self._response and Lazily.made == lazy:
            return self._show(message, context, answer, self._afters)
        if kind is Delayed:
            answer.try_complete = partial(self._complete, message, context, answer.try_complete)
        elif kind is Encoded and len(answer.body) <= LARGE:
            answer = whole(opened(self._route, answer))
            return self._show(message, context, answer, self._afters)
        elif kind in (GeneratorType, Encoded) or isinstance(answer, self._response):
            return self._leave_in_steps(message, context, answer, lazy)
        return answer  # parked, none, or nothing that anybody could read: the pool says so

    def _leave_in_steps(self, message: Any, context: Context, answer: Any, lazy: int) -> Steps[Any]:
        try:
            if type(answer) is GeneratorType:
                answer = yield from answer
                if type(answer) is Delayed or answer is None or answer is NO_ANSWER:
                    return self._leave(message, context, answer, lazy)
            answer = yield from opened(self._route, answer)
        except Exception as error:  # noqa: BLE001 - it is judged
            answer = self._say(message, context, error)
        return self._show(message, context, answer, self._afters)

    def _complete(
        self,
        message: Any,
        context: Context,
        try_complete: Callable[[bool], Any],
        timed_out: bool,
    ) -> Any:
        """In the place of the `try_complete` of a Delayed."""
        made = Lazily.made
        try:
            answer = try_complete(timed_out)
        except Exception as error:  # noqa: BLE001 - it is judged
            answer = self._say(message, context, error)
        return None if answer is None else self._leave(message, context, answer, made)

    def _show(self, message: Any, context: Context, answer: Any, afters: Afters) -> Any:
        """The answer as these leave it."""
        elapsed, stamps = self._elapsed, context.request.stamps
        began = now = elapsed()
        for one, call in afters:
            try:
                made = call(message, answer, context)
                if made is not None or stamps.answered:
                    self._check(one, made, context)
            except BaseException as error:  # noqa: BLE001 - it ends here, whatever it is
                if self._has_ranges:
                    release_ranges(answer)
                made = answer = self._blame(one, message, context, error, elapsed() - now)
                now = elapsed()
            else:
                then = elapsed()
                spent, now = then - now, then
                one.calls += 1
                one.seconds += spent
                if spent > one.alarm_s:
                    self._note_slow(one, spent)
            if made is not None and made is not answer:
                if self._has_ranges:
                    release_ranges(answer, unless=made)
                answer = made
        stamps.plugin_s += now - began
        return answer

    # --- what goes wrong

    def _say(self, message: Any, context: Context, error: Exception) -> Any:
        """The error of a handler as an answer."""
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
        """The answer to what an interceptor raised."""
        one.calls += 1
        one.seconds += spent
        if spent > one.alarm_s:
            self._note_slow(one, spent)
        request = context.request
        code, text = self._failures.blame(one, request, self._route, error)
        return self._failures.answer(request, self._route, message, code, text)

    def _note_slow(self, one: Interception, spent: float) -> None:
        if one.note_slow(spent):
            tell_late(one, self._route.api.name, spent)

    def _check(self, one: Interception, answer: Any, context: Context) -> None:
        check_answer(one, self._route, answer, context.request)


def _afters_of(layers: Sequence[Interception]) -> Afters:
    """Those that see an answer from within, innermost first."""
    return tuple((one, one.function) for one in reversed(layers) if one.kind != BEFORE)
