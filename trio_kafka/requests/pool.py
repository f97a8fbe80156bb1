"""Handler group of a plane: tasks that serve completed operations first, then requests.

An async handler holds a token of the group's limiter (`num.io.threads`). When a handler is parked,
the group starts another task in its place. A request that fails gets an error response of its API;
the group continues.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

import trio
from attrs import evolve

from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.request import Request
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.completions import Completions
from trio_kafka.requests.dispatcher import Dispatcher
from trio_kafka.requests.failures import ErrorResponder
from trio_kafka.requests.interceptors.before_after import ChainDependencies
from trio_kafka.requests.interceptors.chains import Chains
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.replies import Route
from trio_kafka.requests.routes import Routes
from trio_kafka.requests.throttling.charging import charged
from trio_kafka.requests.tokens import Tokens
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.scheduling.loop_budget import LoopBudget

T = TypeVar("T")
_MAX_SPARE: Final = 500  # tasks of about 3 kB each


class HandlerGroup:
    """Implementation of `network.handlers.Handlers`. size: `num.io.threads`.

    unparked: handler tasks that are not parked.
    parked: handlers that are.
    spare: tasks kept above `size`, so that not every parked request starts a task.
    """

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
        self.parked = self.most_parked = self.spare = 0
        self.elapsed: Callable[[], float] = budget.elapsed
        self._channel = channel
        self._parts = parts
        self.budget = budget
        self._name = name
        self._started = 0
        self._nursery: trio.Nursery | None = None
        node = node.add("request-handlers", "nursery", self._figures)
        self.limiter = Tokens(size, node, "num.io.threads")
        self.complete: Callable[[Delayed[object]], None] = channel.complete
        errors = ErrorResponder(counters)
        self._completions = Completions(
            errors, budget=budget, limiter=self.limiter, lane=channel.complete, start=self._start
        )
        self.routes = self._make_routes(errors)
        dispatcher = Dispatcher(
            routes=self.routes, parts=parts, completions=self._completions, owner=self
        )
        # Bound once: a call in between costs time on every request.
        self.perform: Callable[[Request], bool] = dispatcher.perform
        self._perform_async = dispatcher.perform_async
        parts.in_process.serve(self, channel, node)

    def _make_routes(self, errors: ErrorResponder) -> Routes:
        """Return the routes of the group, with interceptors, error counts and quotas."""
        parts = self._parts
        chains = Chains(
            interceptors=parts.interceptors,
            dependencies=ChainDependencies(self.elapsed, errors, self._completions.run_steps),
        )

        def wrap(route: Route) -> Route:
            route = chains.wrap(route)
            if parts.error_counts.active:
                route = evolve(route, counts_errors=True)
            return charged(route, parts.quotas) if parts.quotas.active else route

        routes = Routes(parts.apis, wrap)
        parts.error_counts.on_toggle(routes.clear)
        parts.quotas.quotas.on_toggle(routes.clear)
        return routes

    @property
    def names(self) -> Mapping[int, str]:
        """Names of the served APIs, by key."""
        return self._parts.apis.names

    @property
    def idle(self) -> int:
        """Number of idle handlers, at most `size`; spare tasks do not count."""
        return max(0, self._channel.requests.idle - max(0, self.unparked - self.size))

    def largest_request(self, key: int) -> int:
        """Return the size in bytes of the API's largest request; 0 if it declares none."""
        return self.routes.largest(key)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the handler tasks until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for _ in range(self.size):
                self._start_handler()
            task_status.started()

    def resize(self, size: int) -> None:
        """Change `num.io.threads`: tasks start at once, surplus tasks end when they are idle."""
        self.size = size
        self.limiter.total_tokens = size
        while self._nursery is not None and self.unparked < size:
            self._start_handler()

    async def run_steps(self, steps: Steps[T]) -> T:
        """Run steps in slices and return their result."""
        return await self._completions.run_steps(steps)

    # --- parked handlers

    def note_parked(self) -> None:
        """Note that a handler is parked, and start another in its place."""
        self.parked += 1
        if self.parked > self.most_parked:
            self.most_parked = self.parked
            self.spare = min(self.parked, _MAX_SPARE)
        self.unparked -= 1
        self._channel.pass_on()
        if self.unparked < self.size:
            self._start_handler()

    def note_resumed(self) -> None:
        """Note that a parked handler continues or ends; a task too many ends after its request."""
        self.parked -= 1
        self.unparked += 1

    # --- tasks

    async def _serve(self) -> None:
        """Serve items of the channel; one handler task."""
        try:
            while self.unparked <= self.size + self.spare:
                with trio.CancelScope() as scope:
                    await self._serve_in(scope)
            self._channel.pass_on()
        finally:
            self.unparked -= 1

    async def _serve_in(self, scope: trio.CancelScope) -> None:
        """Serve items until a request cancels the scope, or the task is one too many.

        All async requests of the task share the scope: one for each would cost it 8 µs.
        """
        channel, budget, elapsed = self._channel, self.budget, self.elapsed
        ends = 0.0
        while self.unparked <= self.size + self.spare and not scope.cancel_called:
            if channel.requests.queued or (channel.completions and not self._is_surplus):
                if elapsed() >= ends:
                    await trio.lowlevel.checkpoint()
                    ends = budget.begin_share()
                item = channel.take_nowait()
            else:
                # Woken for the lane without a request: its first item, if no one else has it.
                item = await channel.take() or channel.take_nowait()
                ends = budget.begin_share()
            request = self._serve_batch(item, ends)
            item = None
            if request is not None:
                await self._perform_async(request, scope)
                request = None  # else an idle task would keep it alive

    @property
    def _is_surplus(self) -> bool:
        """Whether others serve the completion lane, as there are more active tasks than `size`."""
        return self.unparked - self._channel.requests.idle > self.size

    def _serve_batch(self, item: Delayed[object] | Request | None, ends: float) -> Request | None:
        """Serve `item` and what follows, until `ends` or a request with an async handler.

        Returns that request, or None.
        """
        elapsed, deferred = self.elapsed, self.budget.deferred
        outer = deferred.begin()
        try:
            while item is not None:
                if isinstance(item, Delayed):
                    item.purgatory.check(item)
                else:
                    item.stamps.begun = elapsed()
                    if not self.perform(item):
                        return item
                is_over = elapsed() >= ends or self.unparked > self.size + self.spare
                item = None if is_over else self._channel.take_nowait()
            return None
        finally:
            deferred.end(outer)

    def _start_handler(self) -> None:
        self._start(self._serve, suffix=str(self._started))
        self.unparked += 1
        self._started += 1

    def _start(self, task: Callable[..., Awaitable[object]], *args: object, suffix: str) -> None:
        if self._nursery is None:
            raise RuntimeError(f"{self._name} has no tasks: run the handler group first")
        self._nursery.start_soon(task, *args, name=f"{self._name}-{suffix}")

    def _figures(self) -> Figures:
        return {
            "size": self.size,
            "tasks": self.unparked,
            "spare": self.spare,
            "parked": self.parked,
            "most_parked": self.most_parked,
        }
