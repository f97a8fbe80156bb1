"""Completion of requests: whatever a handler returned becomes the response, in one place.

A handler returns a message, a message that is bytes already (`Encoded`), None for no response, a
`Delayed`, or a generator that pauses between parts of its work and returns one of these. Work that
is too much for one step is done in slices: at once while it is short, then in a task of its own,
under a handler token. The connection's next request waits meanwhile, so responses keep their order.
"""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from types import GeneratorType
from typing import Any, Final, TypeVar

import trio

from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.introspect.log import get_logger
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.request import IN_STEPS, Request
from trio_kafka.purgatory import NO_ANSWER, Delayed
from trio_kafka.requests.failures import Failures
from trio_kafka.requests.replies import Encoded, Route
from trio_kafka.requests.tokens import Tokens
from trio_kafka.scheduling.chunked_work import Steps, advance
from trio_kafka.scheduling.loop_budget import SLICE_S, LoopBudget

T = TypeVar("T")
logger: Final = get_logger(__name__)
_AT_ONCE_S: Final = 0.0005  # of steps, before a task takes the rest
_SLICE_S: Final = 0.0001  # of steps, in a pass whose budget is used up


class Completions:
    """Completions of a handler group's requests.

    lane: where delayed operations go when their keys change. start: starts a task of the group,
    with a suffix for its name.
    """

    def __init__(
        self,
        failures: Failures,
        *,
        budget: LoopBudget,
        limiter: Tokens,
        lane: Callable[[Delayed], None],
        start: Callable[..., None],
    ) -> None:
        self._failures = failures
        self._budget = budget
        self._deferred = budget.deferred
        self._limiter = limiter
        self._lane = lane
        self._start = start

    def complete(
        self, request: Request, route: Route, message: Any, answer: Any, *, ran: bool = False
    ) -> None:
        """Make what a handler returned, or an operation ended with, the response.

        ran: other tasks may have run since the answer was made, so a `Delayed` is looked at again.
        """
        try:
            kind = type(answer)
            if kind is Delayed:
                self._delay(request, route, message, answer, ran=ran)
            elif answer is None or answer is NO_ANSWER:
                request.respond(None)
            elif isinstance(answer, Exception):
                self.fail(request, route, message, answer)
            elif kind is Encoded:
                request.respond(route.write(request, answer))
            elif kind is GeneratorType:
                self.in_steps(request, self._drain(request, route, message, answer))
            elif route.is_large(answer):
                self.in_steps(request, self._write(request, route, message, answer))
            else:
                request.respond(route.write(request, answer))
        except Exception as error:  # noqa: BLE001 - one request fails, the group goes on
            self.fail(request, route, message, error)

    def _drain(
        self, request: Request, route: Route, message: Any, steps: Steps[Any]
    ) -> Steps[None]:
        """Complete a request with the result of a handler's steps."""
        try:
            answer = yield from steps
        except Exception as error:  # noqa: BLE001 - one request fails, the group goes on
            self.fail(request, route, message, error)
        else:
            self.complete(request, route, message, answer, ran=True)

    def _write(self, request: Request, route: Route, message: Any, answer: Any) -> Steps[None]:
        """Write a large response."""
        try:
            segments = yield from route.write_in_steps(request, answer)
        except Exception as error:  # noqa: BLE001 - one request fails, the group goes on
            self.fail(request, route, message, error)
        else:
            request.respond(segments)

    # --- delayed operations

    def _delay(
        self, request: Request, route: Route, message: Any, delayed: Delayed, *, ran: bool
    ) -> None:
        if delayed.soon and self._deferred.calls is not None:
            request.stamps.handled = self._budget.elapsed()
            self._deferred.defer(partial(self._settle, request, route, message, delayed))
            return
        self._watch(request, route, message, delayed, ran=ran)

    def _settle(self, request: Request, route: Route, message: Any, delayed: Delayed) -> None:
        """Complete an operation at the end of the batch, or register it if it is not done yet."""
        answer = delayed.purgatory.complete_now(delayed)
        if answer is None:
            self._watch(request, route, message, delayed, ran=True)
        else:
            self.complete(request, route, message, answer)

    def _watch(
        self, request: Request, route: Route, message: Any, delayed: Delayed, *, ran: bool
    ) -> None:
        connection = request.connection
        if connection.left or connection.closed:  # the edge will not come again
            delayed.purgatory.drop(delayed)
            request.respond(None)
            return
        request.stamps.handled = self._budget.elapsed()
        delayed.since = self._budget.time
        connection.parked = partial(delayed.purgatory.drop, delayed)
        connection.request, request.waits_for = request, delayed
        request.give_back()
        delayed.purgatory.watch(delayed, self._lane, partial(self._finish, request, route, message))
        if ran:
            delayed.marked()  # for changes before it was registered

    def _finish(self, request: Request, route: Route, message: Any, answer: Any) -> None:
        """Complete a request whose delayed operation has ended."""
        request.connection.parked = request.waits_for = None
        self.complete(request, route, message, answer)

    # --- errors

    def fail(self, request: Request, route: Route, message: Any, error: Exception) -> None:
        """Respond with an error; a bug is logged with its traceback, a KafkaError is a response.

        A ProtocolError ends the connection. An InvariantError is raised again: it stops the broker.
        """
        if isinstance(error, ProtocolError):
            request.refuse(CloseReason.FORBIDDEN, f"{route.api.name}: {error}")
            return
        code, text = self._failures.judge(request, route, error)
        segments = None
        try:
            answer = self._failures.answer(request, route, message, code, text)
            if route.is_large(answer):
                self.in_steps(request, self._write_error(request, route, code, answer))
                return
            segments = route.write(request, answer)
        except KafkaError:  # the API has no place for it
            self._failures.count(request, route, code)
        except Exception:
            logger.exception("error response failed", api=route.api.name)
        if segments is None:
            request.refuse(CloseReason.NO_ERROR_ANSWER, f"{route.api.name}: {code.name}")
        else:
            request.respond(segments)

    def _write_error(
        self, request: Request, route: Route, code: ErrorCode, answer: Any
    ) -> Steps[None]:
        """Write a large error response."""
        try:
            segments = yield from route.write_in_steps(request, answer)
        except Exception:
            logger.exception("error response failed", api=route.api.name)
            request.refuse(CloseReason.NO_ERROR_ANSWER, f"{route.api.name}: {code.name}")
        else:
            request.respond(segments)

    # --- in slices

    def in_steps(self, request: Request, steps: Steps[None]) -> None:
        """Run steps, the first ones at once, the rest in a task.

        Another plane is let in between, and before, as reading the request may have taken as long.
        """
        elapsed, budget = self._budget.elapsed, self._budget
        request.waits_for = IN_STEPS
        budget.yield_point()
        ends = elapsed() + _AT_ONCE_S
        while advance(steps, elapsed, elapsed() + SLICE_S) is None:
            budget.yield_point()
            if elapsed() >= ends:
                request.connection.request = request
                self._start(self._go_on, request, steps, suffix="slices")
                return

    async def _go_on(self, request: Request, steps: Steps[None]) -> None:
        with closing(steps):
            await self._limiter.take(request)
            try:
                await self.run_steps(steps)
            finally:
                self._limiter.give_back(request)

    async def run_steps(self, steps: Steps[T]) -> T:
        """Run steps and return their result; other tasks run between slices of them."""
        while True:
            ends = max(self._budget.begin_share(), self._budget.elapsed() + _SLICE_S)
            done = advance(steps, self._budget.elapsed, ends)
            if done is not None:
                return done.value
            await trio.lowlevel.checkpoint()
