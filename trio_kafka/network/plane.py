"""A plane: listeners, one request channel and one group of handlers, isolated from other planes.

Listeners and processors can be added and removed while it runs.

Names of tasks and nodes are Kafka's names of threads:
data-plane-kafka-network-thread-1-PLAINTEXT-PLAINTEXT-0.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

import trio

from trio_kafka.introspect.channels import Channel
from trio_kafka.model import Endpoint
from trio_kafka.network.handlers import Handlers, PlaneResources
from trio_kafka.network.idle_metrics import IdleMetrics
from trio_kafka.network.listener import BoundListener, ServedListener, bind_listener
from trio_kafka.network.memory import MemoryPool
from trio_kafka.network.processor import Processor
from trio_kafka.network.request import Request
from trio_kafka.network.settings import ListenerSettings


class Plane:
    """Planes bind in `run`, accept after `open`, and empty in `drain`."""

    def __init__(self, name: str, resources: PlaneResources, *, node_id: int = 0) -> None:
        self.name = name
        self._node = node = resources.node
        self._node_id = node_id
        self._resources = resources
        budget, handlers = resources.budget, resources.handlers
        if resources.memory is not None:
            node.add("memory-pool", "part", resources.memory.figures)
        self.request_metrics = resources.request_metrics
        budget.handlers = handlers
        self.idle = IdleMetrics(budget, lambda: self.processors, lambda: handlers.size)
        node.add("idle", "part", self.idle.figures)
        self.budget = budget
        self._opened = trio.Event()
        self._nursery: trio.Nursery | None = None
        self.listeners: dict[str, ServedListener] = {}
        self._retiring: list[ServedListener] = []

    @property
    def handlers(self) -> Handlers:
        """Handler group of the plane."""
        return self._resources.handlers

    @property
    def requests(self) -> Channel[Request | None]:
        """Channel of the requests."""
        return self._resources.channel.requests

    @property
    def memory(self) -> MemoryPool | None:
        """Pool for requests that are received or in flight; None: unbounded."""
        return self._resources.memory

    @property
    def processors(self) -> list[Processor]:
        """Processors of all listeners, retiring ones too."""
        served = (*self.listeners.values(), *self._retiring)
        return [processor for listener in served for processor in listener.all_processors]

    async def run(
        self,
        listeners: Sequence[ListenerSettings],
        *,
        task_status: trio.TaskStatus[list[Endpoint]] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Bind and serve until cancelled; started with the addresses, in order, when all are bound.

        Raises OSError if an address cannot be bound; its `filename` names listener and address.
        """
        budget = self._resources.budget
        with ExitStack() as stack:
            stack.enter_context(self._node.child("loop", "part", budget.figures))
            stack.enter_context(budget.installed())
            async with trio.open_nursery() as nursery:
                await nursery.start(self._resources.handlers.run)
                self._nursery = nursery
                network, endpoints = self._resources.world.network, []
                for settings in listeners:
                    served = self._take(await bind_listener(network, settings))
                    await nursery.start(served.run, self._opened, name=served.name)
                    endpoints.append(served.address)
                task_status.started(endpoints)

    def open(self) -> None:
        """Let the acceptors begin."""
        self._opened.set()

    def serve_pending(self) -> bool:
        """Serve what has arrived, at a yield point of another plane; whether anything had."""
        served = False
        for listener in self.listeners.values():
            for processor in listener.processors:
                served |= processor.serve_pending()
        return served

    # --- while it runs

    def add(self, bound: BoundListener) -> None:
        """Serve one more listener.

        Raises OSError, and closes the socket, if there is no descriptor for a processor.
        """
        served = self._take(bound)
        self._tasks.start_soon(served.run, self._opened, name=served.name)

    def remove(self, name: str) -> None:
        """Retire a listener: close its socket, and its connections when they are answered."""
        served = self.listeners.pop(name)
        self._retiring.append(served)
        self._tasks.start_soon(self._retire, served, name=f"{served.name}-retire")

    def rename(self, name: str, settings: ListenerSettings) -> None:
        """Replace a listener by another one on the same socket; no client is refused meanwhile."""
        bound = self.listeners[name].hand_over(settings)
        self.remove(name)
        self.add(bound)

    async def wait_closed(self) -> None:
        """Wait until the sockets of retiring listeners are closed, which is soon."""
        for served in list(self._retiring):
            await served.accepted_last.wait()

    def resize(self, name: str, processors: int) -> None:
        """Set the number of processors of a listener."""
        self.listeners[name].resize(processors)

    async def drain(self, deadline: float) -> bool:
        """Accept and read nothing more, and answer the requests in flight.

        deadline: of `trio.current_time()`. Connections are closed as soon as they have no request
        in flight, or if they read their answer too slowly. Returns whether all are closed; the end
        of `run` closes the others.
        """
        served = [*self.listeners.values(), *self._retiring]
        for listener in served:
            listener.begin_draining()
        with trio.CancelScope(deadline=deadline) as scope:
            async with trio.open_nursery() as nursery:
                for listener in served:
                    nursery.start_soon(partial(listener.wait_drained, hurry=True))
        return not scope.cancelled_caught

    def _take(self, bound: BoundListener) -> ServedListener:
        served = ServedListener(
            bound, self._resources, self._node, plane=self.name, node_id=self._node_id
        )
        served.make_ready()
        self.listeners[bound.settings.name] = served
        return served

    async def _retire(self, served: ServedListener) -> None:
        await served.retire()
        self._retiring.remove(served)

    @property
    def _tasks(self) -> trio.Nursery:
        if self._nursery is None:
            raise RuntimeError(f"plane {self.name} is not running: start `run` first")
        return self._nursery
