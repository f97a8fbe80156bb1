"""Completion of requests: what a handler returned becomes the response, here and nowhere else.

A handler returns a message, a message that is bytes already (`Encoded`), None for no response, or a
`Pending` of one of these. A `Delayed` is parked. `Work` runs in slices: at once while it is short,
then in a task of its own, under a handler token. The next request of the connection waits
meanwhile, so responses keep their order.
"""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, Final, TypeVar

import trio

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError, ProtocolError
from trio_kafka.introspect.log import get_logger
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.request import IN_STEPS, Request
from trio_kafka.pending import NO_ANSWER, Work, flattened
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.failures import ErrorResponder
from trio_kafka.requests.materialize import discard
from trio_kafka.requests.replies import Encoded, Route
from trio_kafka.requests.tokens import Tokens
from trio_kafka.scheduling.chunked_work import Steps, advance
from trio_kafka.scheduling.loop_budget import SLICE_S, LoopBudget

T = TypeVar("T")
logger: Final = get_logger(__name__)
_AT_ONCE_S: Final = 0.0005  # of steps, before a task runs the rest
_MIN_SLICE_S: Final = 0.0001  # of steps, in a pass of the loop whose budget is used up


def parked_message(request: Request) -> object | None:
    """Return the decoded message of a request that waits for a Delayed, for inspection.

    None: it waits for something else, or an interceptor waits for the Delayed.
    """
    delayed = request.waits_for
    finish = delayed.finish if isinstance(delayed, Delayed) else None
    return finish.args[-1] if isinstance(finish, partial) else None


@define(eq=False)
class Completions:
    """Completions of a handler group's requests.

    lane: takes delayed operations when their keys change.
    start: starts a task of the group, with a suffix for its name.
    """

    _errors: ErrorResponder
    _budget: LoopBudget
    _limiter: Tokens
    _lane: Callable[[Delayed[object]], None]
    _start: Callable[..., None]

    def complete(
        self,
        request: Request,
        route: Route,
        message: object,
        result: Any,
        *,
        has_yielded: bool = False,
    ) -> None:
        """Respond with what a handler returned, or with the result of a delayed operation.

        has_yielded: other tasks may have run since the result was made, so a Delayed is checked
            again.
        """
        try:
            kind = type(result)
            if kind is Encoded:
                request.respond(route.write(request, result))
            elif kind is Delayed:
                if result.soon and self._budget.deferred.calls is not None:
                    self._defer(request, route, message, result)
                else:
                    self._watch(request, route, message, result, has_yielded=has_yielded)
            elif result is None or result is NO_ANSWER:
                request.respond(None)
            elif isinstance(result, Exception):
                self.fail(request, route, message, result)
            elif kind is Work:
                self.in_steps(request, self._finish_work(request, route, message, result))
            elif route.is_large(result):
                failed = partial(self.fail, request, route, message)
                self.in_steps(request, self._write(request, route, result, failed))
            else:
                request.respond(route.write(request, result))
        except Exception as error:  # noqa: BLE001 - one request fails, the group continues
            discard(result)
            self.fail(request, route, message, error)

    def _finish_work(
        self, request: Request, route: Route, message: object, work: Work[object]
    ) -> Steps[None]:
        """Complete a request with the result of Work."""
        try:
            result = yield from flattened(work.steps)
        except Exception as error:  # noqa: BLE001 - one request fails, the group continues
            self.fail(request, route, message, error)  # a local name for it would be a cycle
        else:
            self.complete(request, route, message, result, has_yielded=True)

    def _write(
        self, request: Request, route: Route, response: object, failed: Callable[[Exception], None]
    ) -> Steps[None]:
        """Write a large response; discard it if that fails, or if the steps are closed."""
        try:
            segments = yield from route.write_in_steps(request, response)
        except Exception as error:  # noqa: BLE001 - one request fails, the group continues
            discard(response)
            failed(error)
        except BaseException:
            discard(response)
            raise
        else:
            request.respond(segments)

    # --- delayed operations

    def _defer(
        self, request: Request, route: Route, message: object, delayed: Delayed[object]
    ) -> None:
        """Complete an operation at the end of the deferred batch."""
        request.stamps.handled = self._budget.elapsed()
        complete = partial(self._complete_deferred, request, route, message, delayed)
        self._budget.deferred.defer(complete)

    def _complete_deferred(
        self, request: Request, route: Route, message: object, delayed: Delayed[object]
    ) -> None:
        """Complete an operation, or register it if it is not done."""
        result = delayed.purgatory.complete_now(delayed)
        if result is None:
            self._watch(request, route, message, delayed, has_yielded=True)
        else:
            self.complete(request, route, message, result)

    def _watch(
        self,
        request: Request,
        route: Route,
        message: object,
        delayed: Delayed[object],
        *,
        has_yielded: bool,
    ) -> None:
        """Register an operation with its purgatory; the request is parked."""
        connection = request.connection
        if connection.left or connection.closed:  # a second hang-up is not reported
            delayed.purgatory.drop(delayed)
            request.respond(None)
            return
        request.stamps.handled = self._budget.elapsed()
        delayed.since = self._budget.time
        connection.parked = partial(delayed.purgatory.drop, delayed)
        connection.request, request.waits_for = request, delayed
        request.give_back()
        delayed.purgatory.watch(delayed, self._lane, partial(self._finish, request, route, message))
        if has_yielded:
            delayed.marked()  # for changes before it was registered

    def _finish(self, request: Request, route: Route, message: object, result: object) -> None:
        """Complete a parked request with the result of its operation."""
        request.connection.parked = request.waits_for = None
        self.complete(request, route, message, result)

    # --- errors

    def fail(self, request: Request, route: Route, message: object, error: Exception) -> None:
        """Respond with an error, or close the connection if no response can carry it.

        A ProtocolError closes the connection. An InvariantError is raised again.
        """
        if isinstance(error, ProtocolError):
            request.refuse(CloseReason.FORBIDDEN, f"{route.api.name}: {error}")
            return
        code, text = self._errors.classify(request, route, error)

        def failed(error: Exception | None) -> None:
            if error is not None:
                logger.error("error response failed", exc_info=error, api=route.api.name)
            request.refuse(CloseReason.NO_ERROR_ANSWER, f"{route.api.name}: {code.name}")

        try:
            response = self._errors.respond(request, route, message, code, text)
            if route.is_large(response):
                self.in_steps(request, self._write(request, route, response, failed))
            else:
                request.respond(route.write(request, response))
        except KafkaError:  # no response of the API can carry an error
            self._errors.count(request, route, code)
            failed(None)
        except Exception as broken:  # noqa: BLE001 - logged
            failed(broken)

    # --- in slices

    def in_steps(self, request: Request, steps: Steps[None]) -> None:
        """Run steps, the first ones at once, the rest in a task.

        Yields to the other plane between them, and before, as decoding the request may have taken
        long.
        """
        elapsed, budget = self._budget.elapsed, self._budget
        request.waits_for = IN_STEPS
        budget.yield_point()
        ends = elapsed() + _AT_ONCE_S
        while advance(steps, elapsed, elapsed() + SLICE_S) is None:
            budget.yield_point()
            if elapsed() >= ends:
                request.connection.request = request
                self._start(self._run_rest, request, steps, suffix="slices")
                return

    async def _run_rest(self, request: Request, steps: Steps[None]) -> None:
        with closing(steps):
            await self._limiter.take(request)
            try:
                await self.run_steps(steps)
            finally:
                self._limiter.give_back(request)

    async def run_steps(self, steps: Steps[T]) -> T:
        """Run steps and return their result; other tasks run between slices of them.

        The steps are closed if the task is cancelled between two slices.
        """
        with closing(steps):
            while True:
                ends = max(self._budget.begin_share(), self._budget.elapsed() + _MIN_SLICE_S)
                done = advance(steps, self._budget.elapsed, ends)
                if done is not None:
                    return done.value
                await trio.lowlevel.checkpoint()
