"""The handler group of a plane: serves completions, then requests.

A plain handler never waits: it takes no token, and whoever has the request may call it. An async
one runs in a handler task, under a token of the group's limiter (`num.io.threads`) and a cancel
scope of its own. A request that fails gets its API's error answer; the group goes on.

What is too much for one go is done in steps: a large request is read so, a large answer written so,
and a plain handler may be a generator that pauses between parts of its work. Steps are taken at
once as long as they are few; then a task takes the rest, under a token, a slice in each pass of the
loop. The connection's next request waits meanwhile, so answers keep their order.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

import trio

from trio_kafka.errors import (
    ErrorCode,
    KafkaError,
    ProtocolError,
)
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.model import code_of
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.request import Request
from trio_kafka.protocol.errors import ManyItemsError
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.completions import Completions
from trio_kafka.requests.context import Context
from trio_kafka.requests.error_counting import counting
from trio_kafka.requests.failures import Failures
from trio_kafka.requests.interceptors.before_after import ChainDependencies
from trio_kafka.requests.interceptors.chains import Chains
from trio_kafka.requests.large_requests import LARGE
from trio_kafka.requests.parking import Parking
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.replies import Route
from trio_kafka.requests.routes import API_VERSIONS, Routes
from trio_kafka.requests.throttling.charging import charging
from trio_kafka.requests.tokens import Tokens
from trio_kafka.scheduling.chunked_work import Steps, step
from trio_kafka.scheduling.loop_budget import LoopBudget

T = TypeVar("T")
logger = get_logger(__name__)


_SPARE: Final = 500  # about 3 kB each


class HandlerGroup:
    """Implements `network.handlers.Handlers`. `size`: num.io.threads."""

    def __init__(
        self,
        channel: RequestChannel,
        parts: Parts,
        *,
        budget: LoopBudget,
        counters: Counters,
        node: Node,
        size: int = 8,
        name: str = "data-plane-kafka-request-handler",
    ) -> None:
        self.size = size
        self.unparked = 0
        self.parked = self.most_parked = 0
        self.spare = 0  # tasks kept above `size`, so that parking starts no task each time
        self.elapsed: Callable[[], float] = budget.elapsed
        self._channel = channel
        self._parts = parts
        self._budget = budget
        self._deferred = budget.deferred
        self._counters = counters
        self._name = name
        self._started = 0
        self._nursery: trio.Nursery | None = None
        node = node.add("request-handlers", "nursery", self._figures)
        self.limiter = Tokens(size, node, "num.io.threads")
        self.complete: Callable[[Delayed], None] = channel.complete
        failures = Failures(counters)
        self._completions = Completions(
            failures, budget=budget, limiter=self.limiter, lane=channel.complete, start=self._start
        )
        chains = Chains(
            interceptors=parts.interceptors,
            dependencies=ChainDependencies(self.elapsed, failures, self._completions.run_steps),
        )
        counted = counting(chains.put_on, parts.error_counts)
        self._routes = Routes(parts.apis, charging(counted, parts.quotas))
        parts.in_process.serve(self, channel, node)
        parts.error_counts.on_toggle(self._routes.clear)
        parts.quotas.quotas.on_toggle(self._routes.clear)

    @property
    def names(self) -> Mapping[int, str]:
        return self._parts.apis.names

    @property
    def idle(self) -> int:
        """Number of idle handlers; tasks kept above `size` do not count."""
        return max(0, self._channel.counts.idle - max(0, self.unparked - self.size))

    def largest_request(self, key: int) -> int:
        """Bytes of the largest request that the API declares; 0 if it declares none."""
        return self._routes.largest(key)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """The handler tasks, until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for _ in range(self.size):
                self._start_one()
            task_status.started()

    def resize(self, size: int) -> None:
        """Let `num.io.threads` be another number: tasks come at once, and go when they are free."""
        self.size = size
        self.limiter.total_tokens = size
        while self._nursery is not None and self.unparked < size:
            self._start_one()

    async def run_steps(self, steps: Steps[T]) -> T:
        """Run steps in slices and return their result."""
        return await self._completions.run_steps(steps)

    # --- parking

    def one_parked(self) -> None:
        """A handler waits for others: another takes its place."""
        self.parked += 1
        if self.parked > self.most_parked:
            self.most_parked = self.parked
            self.spare = min(self.parked, _SPARE)
        self.unparked -= 1
        if self.unparked < self.size:
            self._start_one()

    def one_returned(self) -> None:
        """It runs again, or ends; there may be one task too many until one has served."""
        self.parked -= 1
        self.unparked += 1

    # --- serving

    def perform(self, request: Request) -> bool:
        """Serve a request by a plain function: no await, so this cannot be cancelled half way.
        False: its handler waits, nothing was done.
        """
        route = request.route = self._routes.get(request.code)
        if route is None:
            self._answer_unknown(request)
            return True
        if route.waits:
            return False
        if request.frame is not None and len(request.frame) > LARGE:
            self._completions.in_steps(request, self._serve_large(request, route))
            return True
        message = self._read(request, route)
        if message is None:
            return True
        self._handle(request, route, message)
        return True

    def _handle(self, request: Request, route: Route, message: Any) -> None:
        """Call a plain handler and complete the request."""
        try:
            answer = route.handler(message, Context(request, self._parts))
        except Exception as error:  # noqa: BLE001 - one request fails, the group goes on
            self._completions.fail(request, route, message, error)
        else:
            self._completions.complete(request, route, message, answer)

    async def _serve(self) -> None:
        """One handler task."""
        channel, budget, elapsed = self._channel, self._budget, self.elapsed
        ends = 0.0
        try:
            while self.unparked <= self.size + self.spare:
                item = channel.take_nowait()
                if item is None:
                    item = await channel.take()
                    ends = budget.begin_share()
                waits = self._serve_some(item, ends)
                if waits is not None:
                    await self._perform_async(waits, waits.route)
                    waits = None  # or it would be held while there is nothing to do
                if elapsed() >= ends:
                    await trio.lowlevel.checkpoint()
                    ends = budget.begin_share()
            channel.pass_on()
        finally:
            self.unparked -= 1

    def _serve_some(self, item: Delayed | Request | None, ends: float) -> Request | None:
        """A round: `item`, and what there is besides until `ends`, or until there is a request
        whose handler waits: that one.
        """
        elapsed, deferred = self.elapsed, self._deferred
        outer = deferred.begin()
        try:
            while item is not None:
                if isinstance(item, Delayed):
                    item.purgatory.check(item)
                else:
                    item.stamps.begun = elapsed()
                    if not self.perform(item):
                        return item
                over = elapsed() >= ends or self.unparked > self.size + self.spare
                item = None if over else self._channel.take_nowait()
            return None
        finally:
            deferred.end(outer)

    async def _perform_async(self, request: Request, route: Route) -> None:
        request.waits_for = None
        reading = self._read_large(request, route)
        done = step(reading)
        message = done.value if done else await self._completions.run_steps(reading)
        if message is None:
            return
        with trio.CancelScope() as scope:
            parking = Parking(self, request, scope.cancel)
            context = Context(request, self._parts, parking)
            try:
                await parking.take()
                answer = await route.handler(message, context)
            except Exception as error:  # noqa: BLE001 - one request fails, the group goes on
                parking.close()
                self._completions.fail(request, route, message, error)
            else:
                parking.close()
                self._completions.complete(request, route, message, answer, ran=True)
            finally:
                parking.close()
        if scope.cancelled_caught:
            request.respond(None)  # its peer left

    def _read(self, request: Request, route: Route) -> Any:
        """The message; None if its connection had to be closed, or if steps serve it."""
        frame = request.frame
        if frame is None:
            return None
        try:
            length = request.client_length
            request.client_id = request.connection.client_id(frame, length)
            return route.read(frame, length)
        except ManyItemsError:
            self._completions.in_steps(request, self._serve_large(request, route))
            return None
        except (ProtocolError, UnicodeDecodeError) as error:
            request.refuse(CloseReason.UNDECODABLE, str(error))
            return None

    def _serve_large(self, request: Request, route: Route) -> Steps[None]:
        """As `perform`, from the first byte to the answer."""
        message = yield from self._read_large(request, route)
        if message is None:
            return
        self._handle(request, route, message)

    def _read_large(self, request: Request, route: Route) -> Steps[Any]:
        """As `_read`, in steps where the frame is large or has many items."""
        frame = request.frame
        if frame is None:
            return None
        try:
            length = request.client_length
            request.client_id = request.connection.client_id(frame, length)
            if len(frame) <= LARGE:
                with suppress(ManyItemsError):
                    return route.read(frame, length)
            return (yield from route.read_in_steps(frame, length))
        except (ProtocolError, UnicodeDecodeError) as error:
            request.refuse(CloseReason.UNDECODABLE, str(error))
            return None

    # --- errors

    def _answer_unknown(self, request: Request) -> None:
        """A key or version that is not served ends the connection, but for ApiVersions.

        A client cannot know which of its versions is understood: it is told in version 0.
        Source: KIP-511.
        """
        route = self._routes.get(code_of(API_VERSIONS, 0)) if request.key == API_VERSIONS else None
        if route is None:
            request.refuse(CloseReason.UNKNOWN_API, f"key {request.key} version {request.version}")
        else:
            self._completions.fail(request, route, None, KafkaError(ErrorCode.UNSUPPORTED_VERSION))

    # --- tasks

    @property
    def nursery(self) -> trio.Nursery:
        if self._nursery is None:
            raise RuntimeError("the handler group does not run")
        return self._nursery

    def _start_one(self) -> None:
        self._start(self._serve, suffix=str(self._started))
        self.unparked += 1
        self._started += 1

    def _start(self, task: Callable[..., Awaitable[object]], *args: Any, suffix: str) -> None:
        self.nursery.start_soon(task, *args, name=f"{self._name}-{suffix}")

    def _figures(self) -> Figures:
        return {
            "size": self.size,
            "tasks": self.unparked,
            "parked": self.parked,
            "most_parked": self.most_parked,
        }
