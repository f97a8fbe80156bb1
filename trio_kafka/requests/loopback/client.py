"""Client of a broker within its process: each request passes the handlers of the data plane.

Interceptors, quotas, metrics and the request log see these requests like those of clients.

A response is returned when the throttle time of its client is over. The broker reads nothing else
from this connection, so muting it would not slow the client (before KIP-219, brokers delayed
responses in the same way).
"""

from collections.abc import Callable
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.declared_waits import waits_for
from trio_kafka.introspect.request_metrics import RequestMetrics
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.introspect.waits import Subject
from trio_kafka.model import Endpoint
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.connection import Connection
from trio_kafka.network.request import Request
from trio_kafka.protocol.schema import Message, message_of
from trio_kafka.requests.loopback.exchange import IN_PROCESS, Exchange, RequestHandlers
from trio_kafka.requests.registry import Registry
from trio_kafka.security.principal import BROKER, Principal
from trio_kafka.wire.client import response_class

_ITSELF: Final = Subject("request", "from within the broker")


class InProcessClient:
    """Client of one broker within its process.

    metrics: returns the request metrics that count these requests, or None.
    connections: connections in flight by number, each with one request.
    """

    def __init__(self, apis: Registry, metrics: Callable[[], RequestMetrics | None]) -> None:
        self.connections: dict[int, Connection] = {}
        self._apis = apis
        self._metrics = metrics
        self._requests = self._throttled = self._high_water = 0
        self._handlers: RequestHandlers | None = None
        self._channel: RequestChannel

    def serve(self, handlers: RequestHandlers, channel: RequestChannel, node: Node) -> None:
        """Have a handler group serve the requests, unless another one does."""
        if self._handlers is None:
            self._handlers, self._channel = handlers, channel
            node.add("in-process", "part", self._figures)

    @waits_for("plugin", _ITSELF, "the answer to a request that it makes itself")
    async def ask(
        self,
        request: object,
        *,
        principal: Principal = BROKER,
        client_id: str = "",
        peer: Endpoint = IN_PROCESS,
        version: int | None = None,
        at_most: int | None = None,
    ) -> object:
        """Return the response to a request; None if it has none (acks=0).

        principal, client_id: client that is authorized, charged and logged.
        peer: address of the client for which the request is made, if there is one.
        version: version of the API; None: the newest that is served, and not above `at_most`.
        Raises KafkaError(UNSUPPORTED_VERSION) for an API or version that is not served,
        RefusedError if a client would lose its connection, and TypeError or EncodeError for an
        object that is no request of the version. Cancellation acts like a disconnect.
        """
        handlers = self._handlers
        if handlers is None:
            raise RuntimeError("no handler group serves requests: start the data plane first")
        response_type = response_class(request)
        version = self._version_of(message_of(type(request)), version, at_most)
        exchange = Exchange(handlers, peer, principal)
        received, connection = exchange.receive(request, version, client_id)
        number = self._requests = self._requests + 1
        self.connections[number] = connection
        self._high_water = max(self._high_water, len(self.connections))
        try:
            await exchange.enqueue(received, connection, self._channel)
            data = await exchange.wait_response()
        finally:
            exchange.close(connection)
            del self.connections[number]
        self._count(received, handlers.elapsed())
        self._throttled += exchange.is_throttled
        response = None
        if data is not None:
            response = await exchange.decode(data, response_type, version)
        await exchange.unthrottled.wait()
        return response

    def _version_of(self, message: Message, version: int | None, at_most: int | None) -> int:
        """Return the version to ask in. Raises KafkaError(UNSUPPORTED_VERSION)."""
        api = None if message.key is None else self._apis.get(message.key)
        if api is None:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{message.name} is not served")
        if version is None:
            version = api.last if at_most is None else min(api.last, at_most)
        if not api.first <= version <= api.last:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{message.name} version {version}: {api.first} to {api.last} are served",
            )
        return version

    def _count(self, request: Request, sent: float) -> None:
        """Count a request in the request metrics and the request log."""
        stamps, metrics = request.stamps, self._metrics()
        stamps.client_id = request.client_id
        if metrics is not None:
            metrics.of(request.key).add(stamps, sent)
            if metrics.log is not None:
                metrics.log(stamps)

    def _figures(self) -> Figures:
        return {
            "in_flight": len(self.connections),
            "high_water": self._high_water,
            "asked": self._requests,
            "throttled": self._throttled,
        }
