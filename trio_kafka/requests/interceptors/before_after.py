"""Adjacent `before`s and `after`s around what they share: a handler, or an `around`.

An `after` sees messages: a response given as bytes is decoded, an error is a response, and a
delayed response is seen on completion. A missing response (acks=0) and a connection that is to be
closed are not shown. If an interceptor fails, its request gets an error response.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from trio_kafka.attributes import frozen
from trio_kafka.pending import Work, then
from trio_kafka.requests.chunked_codec import LARGE
from trio_kafka.requests.error_answers import wants_answer
from trio_kafka.requests.failures import ErrorResponder
from trio_kafka.requests.handler_slot import RequestContext
from trio_kafka.requests.interceptors.contract import Contract
from trio_kafka.requests.interceptors.registry import Interception
from trio_kafka.requests.lazy_arrays import LAZY_ARRAYS
from trio_kafka.requests.materialize import discard, has_ranges, materialized, release_ranges
from trio_kafka.requests.replies import Encoded, Route
from trio_kafka.scheduling.chunked_work import Steps, whole

BEFORE: Final = "before"
_PASSED: Final = object()  # no `before` returned a response
# `after`s, innermost first, each with its function.
Afters = tuple[tuple[Interception, Callable[..., object]], ...]


@frozen
class ChainDependencies:
    """Parts of the handler group that chains use. run_steps: runs steps in slices."""

    elapsed: Callable[[], float]
    errors: ErrorResponder
    run_steps: Callable[[Steps[object]], Awaitable[object]]


class BeforeAfter:
    """Adjacent `before`s and `after`s of a route.

    inner: a handler, or what stands in its place; async if `waits`, and then so is `serve`.
    layers: the interceptors, outermost first, without an `around`.
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
        self._errors = dependencies.errors
        self._contract = Contract(route, dependencies.errors)
        self._count = self._contract.count
        self._response = route.api.response
        self._has_ranges = has_ranges(route.api.response)
        self._afters = _afters_of(layers)
        # Each `before` with the `after`s outside of it, which see its response.
        self._befores = tuple(
            (interception, interception.function, _afters_of(layers[:n]))
            for n, interception in enumerate(layers)
            if interception.kind == BEFORE
        )
        self.serve: Callable[[Any, Any], Any] = self._serve_waiting if waits else self._serve

    def _serve(self, message: object, context: RequestContext) -> object:
        response = self._call_befores(message, context)
        if response is not _PASSED:
            return response
        if not self._afters:
            return self._inner(message, context)
        lazy_arrays = LAZY_ARRAYS.created
        try:
            result = self._inner(message, context)
        except Exception as error:  # noqa: BLE001 - becomes a response
            result = self._respond_to(message, context, error)
        return self._show(message, context, result, lazy_arrays)

    async def _serve_waiting(self, message: object, context: RequestContext) -> object:
        response = self._call_befores(message, context)
        if response is not _PASSED:
            return response
        if not self._afters:
            return await self._inner(message, context)
        lazy_arrays = LAZY_ARRAYS.created
        try:
            result = await self._inner(message, context)
        except Exception as error:  # noqa: BLE001 - becomes a response
            result = self._respond_to(message, context, error)
        return self._show(message, context, result, lazy_arrays)

    def _call_befores(self, message: object, context: RequestContext) -> object:
        """Call the `before`s, outermost first; return the first response, or _PASSED."""
        if not self._befores:
            return _PASSED
        elapsed, count, stamps = self._elapsed, self._count, context.request.stamps
        began = last = elapsed()
        for interception, call, outer in self._befores:
            try:
                response = call(message, context)
                now = elapsed()
                spent_s, last = now - last, now
                if response is None and not stamps.answered:
                    count(interception, spent_s)
                    continue
                self._contract.check(interception, response, context.request)
                count(interception, spent_s)
            except BaseException as error:  # noqa: BLE001 - becomes a response
                now = elapsed()
                stamps.plugin_s += now - began
                response = self._respond_to_interceptor(
                    interception, message, context, error, now - last
                )
            else:
                stamps.plugin_s += last - began
            if not wants_answer(message):
                return None
            return self._call_afters(message, context, response, outer)
        stamps.plugin_s += last - began
        return _PASSED

    def _show(
        self, message: object, context: RequestContext, result: object, lazy_arrays: int
    ) -> object:
        """Show the `after`s what a handler returned, now or when it is complete.

        lazy_arrays: `LAZY_ARRAYS.created` before the handler was called.
        Returns what a handler may return. None, and a result that is no response of the API, are
        not shown.
        """
        if type(result) is self._response and LAZY_ARRAYS.created == lazy_arrays:
            return self._call_afters(message, context, result, self._afters)  # nearly always

        def finish(response: object) -> object:
            if isinstance(response, Exception):
                response = fail(response)
            if not isinstance(response, (self._response, Encoded)):
                return response
            if type(response) is Encoded and len(response.body) <= LARGE:
                response = whole(materialized(self._route, response))
            elif LAZY_ARRAYS.created != lazy_arrays or type(response) is Encoded:
                return Work(self._show_in_steps(message, context, response))
            return self._call_afters(message, context, response, self._afters)

        def fail(error: BaseException) -> object:
            if not isinstance(error, Exception):
                raise error
            return finish(self._respond_to(message, context, error))

        return then(result, finish, fail)

    def _show_in_steps(
        self, message: object, context: RequestContext, response: object
    ) -> Steps[object]:
        try:
            response = yield from materialized(self._route, response)
        except BaseException:  # GeneratorExit too: the group may end between two steps
            discard(response)
            raise
        return self._call_afters(message, context, response, self._afters)

    def _call_afters(
        self, message: object, context: RequestContext, response: object, afters: Afters
    ) -> object:
        """Call `after`s, innermost first; return the response that they leave."""
        elapsed, count, stamps = self._elapsed, self._count, context.request.stamps
        began = last = elapsed()
        for interception, call in afters:
            try:
                replaced = call(message, response, context)
                now = elapsed()
                spent_s, last = now - last, now
                if replaced is not None or stamps.answered:
                    self._contract.check(interception, replaced, context.request)
                count(interception, spent_s)
            except BaseException as error:  # noqa: BLE001 - becomes a response
                if self._has_ranges:
                    release_ranges(response)
                now = elapsed()
                response = self._respond_to_interceptor(
                    interception, message, context, error, now - last
                )
                last = elapsed()
                continue
            if replaced is not None:
                if replaced is not response and self._has_ranges:
                    release_ranges(response, unless=replaced)
                response = replaced
        stamps.plugin_s += last - began
        return response

    def _respond_to(self, message: object, context: RequestContext, error: Exception) -> object:
        """Return the response for a handler's exception."""
        return self._errors.respond_to(context.request, self._route, message, error)

    def _respond_to_interceptor(
        self,
        interception: Interception,
        message: object,
        context: RequestContext,
        error: BaseException,
        spent_s: float,
    ) -> object:
        """Count a call that raised, and return the response for its exception."""
        self._count(interception, spent_s)
        return self._contract.respond_to(interception, context.request, message, error)


def _afters_of(layers: Sequence[Interception]) -> Afters:
    """Return the `after`s of layers, innermost first."""
    return tuple(
        (interception, interception.function)
        for interception in reversed(layers)
        if interception.kind != BEFORE
    )
