"""One listener: a bound socket, its acceptor and its processors, in one nursery.

Processors can be added and removed while it runs, and the listener can be retired while its plane
runs on. A retired one reads nothing more, answers the requests in flight within a timeout, and
closes. Source: KIP-226; DataPlaneAcceptor of Apache Kafka 4.4.0, which does not wait.
"""

from functools import partial
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.model import Endpoint
from trio_kafka.network.acceptor import Acceptor
from trio_kafka.network.handlers import PlaneResources
from trio_kafka.network.handshakes import Handshakes
from trio_kafka.network.listener_tls import ListenerTls
from trio_kafka.network.processor import Processor
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.world.protocols import Listener, Network

_logger: Final = get_logger(__name__)
_LOOK_S: Final = 1.0
RETIRE_S: Final = 30.0  # for requests in flight, before connections are closed


@frozen
class BoundListener:
    """A listening socket with its settings, before anything is accepted from it.

    after: set when the previous listener on this socket has stopped accepting; None: there is none.
    """

    settings: ListenerSettings
    socket: Listener
    after: trio.Event | None = None

    @property
    def address(self) -> Endpoint:
        return self.socket.address


async def bind_listener(network: Network, settings: ListenerSettings) -> BoundListener:
    """Bind a listener.

    Raises OSError if the address cannot be bound; its `filename` names listener and address.
    """
    try:
        socket = await network.listen(
            settings.host,
            settings.port,
            settings.backlog,
            send_buffer=settings.send_buffer,
            receive_buffer=settings.receive_buffer,
            largest_buffer=settings.largest_buffer,
        )
    except OSError as error:
        named = f"{settings.name}://{Endpoint(settings.host, settings.port)}"
        raise OSError(error.errno, error.strerror, named) from error
    return BoundListener(settings, socket)


class ServedListener:
    """Serves one bound socket.

    plane: prefix of the names of its tasks. processors: those that get new connections.
    accepted_last: set when nothing more is accepted here.
    """

    def __init__(
        self,
        bound: BoundListener,
        resources: PlaneResources,
        node: Node,
        *,
        plane: str,
        node_id: int,
    ) -> None:
        settings = bound.settings
        self.settings = settings
        self.address = bound.address
        labels = f"{settings.name}-{settings.security_protocol}"
        self.name = f"{plane}-plane-kafka-socket-acceptor-{labels}-{self.address.port}"
        self._threads = f"{plane}-plane-kafka-network-thread-{node_id}-{labels}"
        self._socket = bound.socket
        self._after = bound.after
        self._handed_over = False  # the socket belongs to another listener
        self.accepted_last = trio.Event()
        self._resources = resources
        title = f"listener {settings.name}://{self.address}"
        self._node = node.add(title, "listener", self.figures)
        self._numbered = 0  # as in Kafka, no number is used twice
        self._accepting = trio.CancelScope()
        self._closing = trio.CancelScope()
        self._nursery: trio.Nursery | None = None
        self.processors: list[Processor] = []
        self._retired: list[Processor] = []
        self._size = settings.processors

    @property
    def all_processors(self) -> list[Processor]:
        """All processors, also retired ones that still have requests in flight."""
        return [*self.processors, *self._retired]

    def make_ready(self) -> None:
        """Make the first processor.

        Raises OSError, and closes the socket, if there is no descriptor for it.
        """
        try:
            self._add()
        except OSError:
            self._socket.close()
            self._node.remove()
            raise

    async def run(
        self, opened: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve until cancelled or retired; started when there are processors.

        opened: accepting begins when it is set; until then clients wait in the kernel's queue.
        """
        admission = self._resources.limits.admission(self.settings.name)
        acceptor = Acceptor(self._socket, self.processors, self._resources.budget, admission)
        try:
            with self._closing:
                async with trio.open_nursery() as nursery:
                    self._nursery = nursery
                    for processor in self.processors:
                        nursery.start_soon(processor.run, name=processor.name)
                    self.resize(self._size)
                    with self._accepting:
                        try:
                            task_status.started()
                            await opened.wait()
                            if self._after is not None:
                                await self._after.wait()
                            await self._accept(acceptor)
                        finally:
                            if not self._handed_over:
                                self._socket.close()
                            admission.close()
                            self.accepted_last.set()
                    await trio.sleep_forever()
        finally:
            self._node.remove()

    async def _accept(self, acceptor: Acceptor) -> None:
        """Accept until cancelled; handshakes that are under way then end with it."""
        with self._node.child(self.name, "task", acceptor.figures):
            if not self.settings.has_tls:
                await acceptor.run()
            tls = await self._wait_tls()
            async with trio.open_nursery() as nursery:
                handshakes = Handshakes(
                    listener=self.settings.name,
                    tls=tls,
                    turn=self._resources.handshake_turn,
                    counters=self._resources.counters,
                    deal=acceptor.deal,
                    nursery=nursery,
                )
                acceptor.begin = handshakes.begin
                with self._node.child("handshakes", "part", handshakes.figures):
                    await acceptor.run()

    async def _wait_tls(self) -> ListenerTls:
        """Return the TLS of this listener. Without a certificate it accepts nothing until then."""
        name = self.settings.name
        if name not in self._resources.tls:
            _logger.error("listener has no certificate: it accepts nothing", listener=name)
        while name not in self._resources.tls:  # noqa: ASYNC110 - a state that never lasts
            await trio.sleep(_LOOK_S)
        await trio.lowlevel.checkpoint()
        return self._resources.tls[name]

    def resize(self, size: int) -> None:
        """Set the number of processors, at least one; the last ones are retired first.

        Without descriptors for more, the listener keeps those that it has.
        """
        self._size = max(size, 1)
        nursery = self._nursery
        if nursery is None:
            return
        while len(self.processors) < self._size:
            try:
                processor = self._add()
            except OSError as error:
                has = len(self.processors)
                _logger.warning(
                    "processors not started",
                    listener=self.settings.name,
                    has=has,
                    wanted=self._size,
                    reason=error.strerror,
                )
                break
            nursery.start_soon(processor.run, name=processor.name)
        while len(self.processors) > self._size:
            processor = self.processors.pop()
            self._retired.append(processor)
            processor.begin_draining()
            nursery.start_soon(self._retire_one, processor, name=f"{processor.name}-retire")

    def stop_accepting(self) -> None:
        """Close the socket; connections stay."""
        self._accepting.cancel()

    def hand_over(self, settings: ListenerSettings) -> BoundListener:
        """Stop accepting; return the socket, with its queue, for another listener."""
        self._handed_over = True
        self.stop_accepting()
        return BoundListener(settings, self._socket, after=self.accepted_last)

    def begin_draining(self) -> None:
        """Accept and read nothing more; close connections without requests in flight."""
        self.stop_accepting()
        for processor in self.all_processors:
            processor.begin_draining()

    async def wait_drained(self, *, hurry: bool = False) -> None:
        """Wait until every connection is closed. hurry: close those that read too slowly."""
        async with trio.open_nursery() as nursery:
            for processor in self.all_processors:
                nursery.start_soon(partial(processor.wait_drained, hurry=hurry))

    async def retire(self) -> None:
        """Drain, then end `run`."""
        self.begin_draining()
        with trio.move_on_after(RETIRE_S):
            await self.wait_drained()
        self._closing.cancel()

    def _add(self) -> Processor:
        name = f"{self._threads}-{self._numbered}"
        self._numbered += 1
        processor = Processor(name, self._resources, self.settings, self._node)
        self.processors.append(processor)
        return processor

    async def _retire_one(self, processor: Processor) -> None:
        with trio.move_on_after(RETIRE_S):
            await processor.wait_drained()
        processor.scope.cancel()
        self._retired.remove(processor)

    def figures(self) -> Figures:
        return {
            "connections": sum(len(processor.connections) for processor in self.all_processors),
            "processors": len(self.processors),
            "retired": len(self._retired),
        }
