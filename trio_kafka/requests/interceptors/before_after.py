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

from trio_kafka.attributes import frozen
from trio_kafka.purgatory import NO_ANSWER, Delayed, Keeper, Purgatory
from trio_kafka.requests.context import Context
from trio_kafka.requests.error_answers import wants_answer
from trio_kafka.requests.failures import Failures, check_answer, tell_late
from trio_kafka.requests.interceptors.registry import Interception
from trio_kafka.requests.interceptors.unrolled import Raised, unrolled
from trio_kafka.requests.large_requests import LARGE, LAZY
from trio_kafka.requests.materialize import has_ranges, opened, release_ranges
from trio_kafka.requests.replies import Encoded, Route
from trio_kafka.scheduling.chunked_work import Steps, whole

BEFORE: Final = "before"
# Those that see an answer, innermost first, each with what is called.
Afters = tuple[tuple[Interception, Callable[..., Any]], ...]


@frozen
class Means:
    """What chains need of the group that runs them."""

    elapsed: Callable[[], float]
    failures: Failures


class Link:
    """`layers`: outermost first; no `around` among them. `serve`: in the place of a handler, async
    if that `waits`.
    """

    def __init__(
        self,
        route: Route,
        inner: Callable[..., Any],
        layers: Sequence[Interception],
        means: Means,
        *,
        waits: bool,
    ) -> None:
        self._route = route
        self._elapsed = means.elapsed
        self._failures = means.failures
        self._response = route.api.response
        self._has_ranges = has_ranges(route.api.response)
        self._afters = _afters_of(layers)
        befores = [(n, one) for n, one in enumerate(layers) if one.kind == BEFORE]
        self._befores = tuple((one, _afters_of(layers[:n])) for n, one in befores)
        self.serve = unrolled(
            self,
            inner,
            [one for _, one in befores],
            [one for one, _ in self._afters],
            response=self._response,
            elapsed=self._elapsed,
            place=(means.failures, route.api.key, route.version),
            waits=waits,
        )

    # --- on the way in

    def entered(
        self,
        at: int,
        message: Any,
        context: Context,
        *,
        began: float,
        now: float | None,
        answer: Any,
    ) -> Any:
        """A `before` has given an answer or raised: no more are asked, and those outside of it see
        what becomes of it.
        """
        one, outer = self._befores[at]
        spent = self._ended([one for one, _ in self._befores[:at]], began, now, context)
        try:
            if type(answer) is Raised:
                raise answer.error
            self._check(one, answer, context)
            self._count(one, spent)
        except BaseException as error:  # noqa: BLE001 - it ends here, whatever it is
            answer = self._blame(one, message, context, error, spent)
        return self._show(message, context, answer, outer) if wants_answer(message) else None

    # --- on the way out

    def leave(self, message: Any, context: Context, answer: Any, lazy: int) -> Any:
        """What the `after`s make of whatever a handler gave. lazy: `LAZY.made` before it did."""
        kind = type(answer)
        if kind is self._response and LAZY.made == lazy:
            return self._show(message, context, answer, self._afters)
        if kind is Delayed:
            if type(answer.purgatory) is Purgatory:
                seen = partial(self._complete, message, context, answer.try_complete)
                answer.try_complete = seen
            else:
                answer.purgatory = _Outside(self, message, context, answer.purgatory)
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
                    return self.leave(message, context, answer, lazy)
            answer = yield from opened(self._route, answer)
        except Exception as error:  # noqa: BLE001 - it is judged
            answer = self.say(message, context, error)
        return self._show(message, context, answer, self._afters)

    def _complete(
        self,
        message: Any,
        context: Context,
        try_complete: Callable[[bool], Any],
        timed_out: bool,
    ) -> Any:
        """In the place of the `try_complete` of a Delayed."""
        made = LAZY.made
        try:
            answer = try_complete(timed_out)
        except Exception as error:  # noqa: BLE001 - it is judged
            answer = self.say(message, context, error)
        return None if answer is None else self.leave(message, context, answer, made)

    def told(self, message: Any, context: Context, answer: Any) -> Any:
        """As `leave`, of what an errand further in has ended with: an exception is an error that no
        answer can say.
        """
        if answer is None or answer is NO_ANSWER or isinstance(answer, Exception):
            return answer
        try:
            return self.leave(message, context, answer, LAZY.made)
        except Exception as error:  # noqa: BLE001 - whoever waits for the answer is told
            return error

    def shown(
        self,
        at: int,
        message: Any,
        context: Context,
        *,
        began: float,
        now: float | None,
        answer: Any,
        made: Any,
    ) -> Any:
        """An `after` has made something of the answer, or raised: those outside of it see that."""
        one, _ = self._afters[at]
        spent = self._ended([one for one, _ in self._afters[:at]], began, now, context)
        answer = self._replaced(one, message, context, answer=answer, made=made, spent=spent)
        return self._show(message, context, answer, self._afters[at + 1 :])

    def _show(self, message: Any, context: Context, answer: Any, afters: Afters) -> Any:
        """The answer as these leave it."""
        elapsed, stamps = self._elapsed, context.request.stamps
        began = now = elapsed()
        for one, call in afters:
            try:
                made = call(message, answer, context)
            except BaseException as error:  # noqa: BLE001 - it ends here, whatever it is
                made = Raised(error)
            then = elapsed()
            spent, now = then - now, then
            if made is None and not stamps.answered:
                self._count(one, spent)
            else:
                answer = self._replaced(
                    one, message, context, answer=answer, made=made, spent=spent
                )
        stamps.plugin_s += now - began
        return answer

    def _replaced(
        self,
        one: Interception,
        message: Any,
        context: Context,
        *,
        answer: Any,
        made: Any,
        spent: float,
    ) -> Any:
        """What an `after` has made in the place of an answer, or raised."""
        try:
            if type(made) is Raised:
                raise made.error
            self._check(one, made, context)
            self._count(one, spent)
        except BaseException as error:  # noqa: BLE001 - it ends here, whatever it is
            if self._has_ranges:
                release_ranges(answer)
            return self._blame(one, message, context, error, spent)
        if made is not answer and self._has_ranges:
            release_ranges(answer, unless=made)
        return made

    # --- what goes wrong

    def say(self, message: Any, context: Context, error: Exception) -> Any:
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
        self._count(one, spent)
        request = context.request
        code, text = self._failures.blame(one, request, self._route, error)
        return self._failures.answer(request, self._route, message, code, text)

    def _ended(
        self,
        called: Sequence[Interception],
        began: float,
        now: float | None,
        context: Context,
    ) -> float:
        """A side does not go on: how long the last one took. called: those before it."""
        ended = self._elapsed()
        context.request.stamps.plugin_s += ended - began
        if now is not None:
            return ended - now
        for one in called:
            one.counted += 1
        return ended - began

    def _count(self, one: Interception, spent: float) -> None:
        one.counted += 1
        one.seconds += spent
        if spent > one.alarm_s:
            self.note_slow(one, spent)

    def note_slow(self, one: Interception, spent: float) -> None:
        """A call took longer than its `alarm_s`."""
        if one.note_slow(spent):
            tell_late(one, self._route.api.name, spent)

    def _check(self, one: Interception, answer: Any, context: Context) -> None:
        check_answer(one, self._route, answer, context.request)


def _afters_of(layers: Sequence[Interception]) -> Afters:
    """Those that see an answer from within, innermost first."""
    return tuple((one, one.function) for one in reversed(layers) if one.kind != BEFORE)


class _Outside:
    """Of an errand whose answer is to be seen: the keeper of what it delays; see
    `purgatory.Keeper`.
    """

    __slots__ = ("_context", "_finish", "_keeper", "_link", "_message")

    def __init__(self, link: Link, message: Any, context: Context, keeper: Keeper) -> None:
        self._link = link
        self._message = message
        self._context = context
        self._keeper = keeper
        self._finish: Callable[[Any], None]

    @property
    def name(self) -> str:
        return self._keeper.name

    def watch(
        self,
        delayed: Delayed,
        lane: Callable[[Delayed], None],
        finish: Callable[[Any], None],
    ) -> None:
        self._finish = finish
        delayed.purgatory = self._keeper
        self._keeper.watch(delayed, lane, self._complete)

    def look(self, delayed: Delayed) -> None:
        self._keeper.look(delayed)

    def drop(self, delayed: Delayed) -> None:
        self._keeper.drop(delayed)

    def _complete(self, answer: Any) -> None:
        self._finish(self._link.told(self._message, self._context, answer))
