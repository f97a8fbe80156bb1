"""A plane: listeners, one request channel and one group of handlers, isolated from other planes.

Names of tasks and nodes are Kafka's names of threads:
data-plane-kafka-network-thread-1-PLAINTEXT-PLAINTEXT-0.
"""

from collections.abc import Sequence
from contextlib import ExitStack

import trio

from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.stamps import LIVES, Times
from trio_kafka.introspect.tree import Node
from trio_kafka.model import Endpoint
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.handlers import Handlers, Shared
from trio_kafka.network.listener import serve_listener
from trio_kafka.network.processor import Processor
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.network.turn import Turn
from trio_kafka.wire.frame import Buffers
from trio_kafka.world.protocols import World


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
    ) -> None:
        """`node` is the plane's own; `turn` and `channel` are those of its handlers; `lives`: how
        many requests are kept of each API.
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
            times=Times(node.add("requests", "part"), handlers.names, lives),
        )
        self.times = self._shared.times
        self._opened = trio.Event()
        self._accepting: list[trio.CancelScope] = []
        self.processors: list[Processor] = []

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
            trio.lowlevel.add_instrument(turn)
            stack.callback(trio.lowlevel.remove_instrument, turn)
            async with trio.open_nursery() as nursery:
                await nursery.start(self._shared.handlers.run)
                endpoints = [await self._start(nursery, settings) for settings in listeners]
                task_status.started(endpoints)

    def open(self) -> None:
        """Let the acceptors go."""
        self._opened.set()

    async def drain(self, deadline: float) -> bool:
        """Accept and read nothing more, and answer what is in hand, until `deadline`
        (trio.current_time()).

        Connections end as soon as nothing of theirs is in hand. True: all have. What is left is for
        whoever cancels.
        """
        for accepting in self._accepting:
            accepting.cancel()
        for processor in self.processors:
            processor.begin_draining()
        with trio.CancelScope(deadline=deadline) as scope:
            for processor in self.processors:
                await processor.wait_drained()
        return not scope.cancelled_caught

    async def _start(self, nursery: trio.Nursery, settings: ListenerSettings) -> Endpoint:
        try:
            listener = await self._shared.world.network.listen(
                settings.host,
                settings.port,
                settings.backlog,
                send_buffer=settings.send_buffer,
                receive_buffer=settings.receive_buffer,
            )
        except OSError as error:
            named = f"{settings.name}://{Endpoint(settings.host, settings.port)}"
            raise OSError(error.errno, error.strerror, named) from error
        address = listener.address
        node = self._node.add(f"listener {settings.name}://{address}", "listener")
        labels = f"{settings.name}-{settings.security_protocol}"
        threads = f"{self.name}-plane-kafka-network-thread-{self._node_id}-{labels}"
        processors = [
            Processor(f"{threads}-{n}", self._shared, settings, node)
            for n in range(settings.processors)
        ]
        self.processors += processors
        accepting = trio.CancelScope()
        self._accepting.append(accepting)
        name = f"{self.name}-plane-kafka-socket-acceptor-{labels}-{address.port}"

        async def serve(*, task_status: trio.TaskStatus[Endpoint]) -> None:
            try:
                await serve_listener(
                    listener,
                    processors,
                    self._shared.turn,
                    node,
                    name=name,
                    opened=self._opened,
                    accepting=accepting,
                    task_status=task_status,
                )
            finally:
                node.remove()

        return await nursery.start(serve, name=name)  # type: ignore[no-any-return]
