"""A plane: listeners, one request channel and one group of handlers, isolated from other planes.

Listeners and their processors come and go while it runs.

Names of tasks and nodes are Kafka's names of threads:
data-plane-kafka-network-thread-1-PLAINTEXT-PLAINTEXT-0.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

import trio

from trio_kafka.introspect.channels import Counts
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.stamps import LIVES, Times
from trio_kafka.introspect.tree import Node
from trio_kafka.model import Endpoint
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.handlers import Handlers, Shared
from trio_kafka.network.idle_metrics import Idleness
from trio_kafka.network.listener import BoundListener, ServedListener, bind_listener
from trio_kafka.network.processor import Processor
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.network.turn import Turn
from trio_kafka.wire.frame import Buffers
from trio_kafka.wire.memory import MemoryPool
from trio_kafka.world.world import World


class Plane:
    """Bound and served by `run`, let go by `open`, emptied by `drain`."""

    def __init__(
        self,
        name: str,
        world: World,
        channel: RequestChannel,
        handlers: Handlers,
        *,
        turn: Turn,
        counters: Counters,
        node: Node,
        node_id: int = 0,
        lives: int = LIVES,
        limits: ConnectionLimits | None = None,
        memory: MemoryPool | None = None,
    ) -> None:
        """`node` is the plane's own; `turn` and `channel` are those of its handlers; `lives`: how
        many requests are kept of each API; `limits`: those of the broker, else there are none;
        `memory`: of requests that are received or in hand, None: as much as they take.
        """
        self.name = name
        self._node = node
        self._node_id = node_id
        self._shared = Shared(
            world=world,
            channel=channel,
            handlers=handlers,
            turn=turn,
            buffers=Buffers(world.buffer),
            counters=counters,
            times=Times(
                node.add("requests", "part"), lambda: handlers.names, lives, elapsed=turn.elapsed
            ),
            limits=limits or ConnectionLimits(world.network, counters, node),
            memory=memory,
        )
        if memory is not None:
            node.add("memory-pool", "part", memory.figures)
        self.times = self._shared.times
        turn.handlers = handlers
        self.idleness = Idleness(turn, lambda: self.processors, lambda: handlers.size)
        node.add("idle", "part", self.idleness.figures)
        self.turn = turn
        self._opened = trio.Event()
        self._nursery: trio.Nursery | None = None
        self.listeners: dict[str, ServedListener] = {}
        self._retiring: list[ServedListener] = []

    @property
    def requests(self) -> Counts:
        """Of the request channel."""
        return self._shared.channel.counts

    @property
    def memory(self) -> MemoryPool | None:
        """Of requests that are received or in hand; None: without a bound."""
        return self._shared.memory

    @property
    def processors(self) -> list[Processor]:
        """Of all listeners, those that retire too."""
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
        turn = self._shared.turn
        with ExitStack() as stack:
            stack.enter_context(self._node.child("turn", "part", turn.figures))
            stack.enter_context(turn.installed())
            async with trio.open_nursery() as nursery:
                await nursery.start(self._shared.handlers.run)
                self._nursery = nursery
                network, endpoints = self._shared.world.network, []
                for settings in listeners:
                    served = self._take(await bind_listener(network, settings))
                    await nursery.start(served.run, self._opened, name=served.name)
                    endpoints.append(served.address)
                task_status.started(endpoints)

    def open(self) -> None:
        """Let the acceptors go."""
        self._opened.set()

    def give_way_to(self, other: "Plane") -> None:
        """Let another plane in between the items of this one, whatever is left of its turn."""
        self._shared.turn.let_in = other.let_in

    def between(self) -> None:
        """Let the other plane in, if there is one: one item has come to a place for that."""
        self._shared.turn.between()

    def let_in(self) -> bool:
        """Serve what has come, in the time of another plane; whether anything had."""
        came = False
        for listener in self.listeners.values():
            for processor in listener.processors:
                came |= processor.let_in()
        return came

    # --- while it runs

    def add(self, bound: BoundListener) -> None:
        """Serve one more listener from now on.

        Raises OSError, and closes the socket, if there is no descriptor for a processor.
        """
        served = self._take(bound)
        self._tasks.start_soon(served.run, self._opened, name=served.name)

    def remove(self, name: str) -> None:
        """Serve a listener no more: its socket is closed, and its connections as soon as what they
        have asked is answered.
        """
        served = self.listeners.pop(name)
        self._retiring.append(served)
        self._tasks.start_soon(self._retire, served, name=f"{served.name}-retire")

    def rename(self, name: str, settings: ListenerSettings) -> None:
        """Serve the address of a listener that goes as another one: as `remove` and `add`, but who
        connects meanwhile waits.
        """
        bound = self.listeners[name].hand_over(settings)
        self.remove(name)
        self.add(bound)

    async def wait_closed(self) -> None:
        """Until the sockets of listeners that go are closed, which is at once."""
        for served in list(self._retiring):
            await served.accepted_last.wait()

    def resize(self, name: str, processors: int) -> None:
        """Let a listener have so many processors."""
        self.listeners[name].resize(processors)

    async def drain(self, deadline: float) -> bool:
        """Accept and read nothing more, and answer what is in hand, until `deadline`
        (trio.current_time()).

        Connections end as soon as nothing of theirs is in hand, and are closed if they read their
        answer too slowly. True: all have ended. Whoever cancels the plane closes the others.
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
            bound, self._shared, self._node, plane=self.name, node_id=self._node_id
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
            raise RuntimeError(f"the plane {self.name} does not run")
        return self._nursery
