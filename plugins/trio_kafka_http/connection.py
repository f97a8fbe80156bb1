"""One connection of the plane: its socket, its node in the tree, and its end."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.world.protocols import Socket
from trio_kafka_http.dispatcher import Dispatcher
from trio_kafka_http.request_cycle import Message, Receive, Send
from trio_kafka_http.settings import HttpSettings
from trio_kafka_http.socket_stream import SocketStream
from trio_kafka_http.tls import HttpTls, SecuredStream

if TYPE_CHECKING:
    from trio_kafka_http.serving import Engine

_PROBE_S: Final = 2.0  # time for the head of a probe


class Connection:
    """A connection; takes ownership of `socket`, until `close`. The `Peer` of its requests.

    tls: None: plain HTTP.
    probes_only: accepted while the plane was full, so it may send one health check, soon, and
        nothing else.
    """

    def __init__(
        self,
        socket: Socket,
        node: Node,
        settings: HttpSettings,
        *,
        tls: HttpTls | None = None,
        probes_only: bool = False,
    ) -> None:
        self.local = socket.local.host
        self.probes_only = probes_only
        self.was_refused = False
        idle_s = settings.idle_timeout_ms / 1000
        self.node = node.add(str(socket.peer), "connection", self._figures)
        self._scope = trio.CancelScope()
        make = SocketStream if tls is None else partial(SecuredStream, tls=tls)
        self._stream: SocketStream = make(
            socket,
            stall_s=settings.send_timeout_ms / 1000,
            idle_s=min(idle_s, _PROBE_S) if probes_only else idle_s,
            over=self._scope.cancel,
        )
        self._began = trio.current_time()
        self._requests = 0

    @property
    def gone(self) -> bool:
        return self._stream.gone

    @property
    def is_busy(self) -> bool:
        """True if a request is being answered."""
        return self._stream.is_busy

    def refuse(self) -> None:
        """Close: a connection reserved for probes asked for something else."""
        self.was_refused = True

    def answer_by(self, deadline: float) -> None:
        self._stream.answer_by = deadline

    def when_left(self, call: Callable[[], None]) -> None:
        self._stream.when_left(call)

    def abort(self) -> None:
        """Reset the connection and cancel its tasks. Idempotent."""
        self._stream.abort()
        self._scope.cancel()

    async def run(self, engine: "Engine", dispatcher: Dispatcher) -> None:
        """Serve until closed. Raises hypercorn's failures, which concern this connection only."""

        async def app(scope: Message, receive: Receive, send: Send) -> None:
            self._requests += 1
            self._stream.begin_request()
            try:
                await dispatcher.serve(scope, receive, send, peer=self)
            finally:
                self._stream.end_request()

        with self._scope:
            await engine.serve(app, self._stream)

    def close(self) -> None:
        """Close the socket, and remove the node. Idempotent."""
        self._stream.close()
        self.node.remove()

    def _figures(self) -> Figures:
        return {
            "age_s": trio.current_time() - self._began,
            "requests": self._requests,
            "received": self._stream.received,
            "sent": self._stream.sent,
        }
