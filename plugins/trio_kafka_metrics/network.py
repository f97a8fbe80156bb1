"""Metrics of the planes: connections, queues, idle ratios.

Clients choose their software names and versions freely, so the number of pairs shown is bounded;
the rest is summed up.
"""

from collections import Counter
from typing import Final

from trio_kafka.network.plane import Plane
from trio_kafka.requests.parts import Parts
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka_metrics.metric_values import MetricValues, of_bean

MOST_SOFTWARE: Final = 50  # most pairs of name and version
LONGEST: Final = 64  # most characters of a name or version
OTHER: Final = ("other", "other")
UNKNOWN: Final = ("unknown", "unknown")  # Kafka's word for clients that do not say
_A_STEP: Final = 256  # connections: about 0.2 ms
_NS: Final = 1e9
_SOCKETS: Final = "kafka.network:type=SocketServer,name="
_QUEUES: Final = "kafka.network:type=RequestChannel,name="
_POOL: Final = "kafka.server:type=KafkaRequestHandlerPool,name="
_CLIENTS: Final = "kafka.server:type=socket-server-metrics"

NETWORK_IDLE = of_bean(
    f"{_SOCKETS}NetworkProcessorAvgIdlePercent", "Idle ratio of the network, 0 to 1."
)
MEMORY_FREE = of_bean(f"{_SOCKETS}MemoryPoolAvailable", "Free bytes of queued.max.request.bytes.")
MEMORY_USED = of_bean(f"{_SOCKETS}MemoryPoolUsed", "Bytes of requests in flight.")
PROCESSOR_IDLE = of_bean(
    "kafka.network:type=Processor,name=IdlePercent,networkProcessor={networkProcessor}",
    "Idle ratio of a processor, 0 to 1.",
)
HANDLERS_IDLE = of_bean(
    f"{_POOL}RequestHandlerAvgIdlePercent",
    "Idle ratio of the request handlers, 0 to 1.",
    "MeanRate",
)
BROKER_IDLE = of_bean(
    f"{_POOL}BrokerRequestHandlerAvgIdlePercent",
    "Equal to RequestHandlerAvgIdlePercent: the controller shares the broker's handlers.",
    "MeanRate",
)
BLOCKED = of_bean(
    "kafka.network:type=Acceptor,name=AcceptorBlockedPercent,listener={listener}",
    "Nanoseconds in which a listener's acceptor was blocked.",
    "Count",
)
REQUESTS = of_bean(f"{_QUEUES}RequestQueueSize", "Requests waiting for a handler.")
RESPONSES = of_bean(f"{_QUEUES}ResponseQueueSize", "Responses waiting for their processor.")
RESPONSES_OF = of_bean(
    f"{_QUEUES}ResponseQueueSize,processor={{processor}}", "Responses waiting for a processor."
)
CONNECTIONS = of_bean(
    f"{_CLIENTS},listener={{listener}},networkProcessor={{networkProcessor}}",
    "Connections.",
    "connection-count",
)
_PROCESSOR: Final = f"{_CLIENTS},listener={{listener}},networkProcessor={{networkProcessor}}"
AUTHENTICATED = of_bean(
    _PROCESSOR, "Connections that have authenticated.", "successful-authentication-total"
)
UNAUTHENTICATED = of_bean(
    _PROCESSOR, "Connections that failed to authenticate.", "failed-authentication-total"
)
RENEWED = of_bean(
    _PROCESSOR, "Sessions that were renewed (KIP-368).", "successful-reauthentication-total"
)
NOT_RENEWED = of_bean(_PROCESSOR, "Sessions whose renewal failed.", "failed-reauthentication-total")
EXPIRED = of_bean(
    _PROCESSOR, "Connections closed as their session had ended.", "expired-connections-killed-count"
)
EXPIRED_OF_ALL = of_bean(
    f"{_SOCKETS}ExpiredConnectionsKilledCount",
    "Connections of all listeners closed as their session had ended.",
)
SOFTWARE = of_bean(
    f"{_CLIENTS},clientSoftwareName={{clientSoftwareName}}"
    ",clientSoftwareVersion={clientSoftwareVersion}"
    ",listener={listener},networkProcessor={networkProcessor}",
    "Connections by client software name and version (KIP-511).",
    "connections",
)


def read_network(parts: Parts, collected: MetricValues) -> Steps[None]:
    """Read the metrics, in steps. Metrics without a label are the data plane's."""
    data = parts.planes[0]
    collected.set(NETWORK_IDLE, data.idle.network())
    collected.set(HANDLERS_IDLE, data.idle.handlers())
    collected.set(BROKER_IDLE, data.idle.handlers())
    collected.set(REQUESTS, data.requests.queued)
    collected.set(RESPONSES, sum(processor.responses.queued for processor in data.processors))
    if data.memory is not None:
        collected.set(MEMORY_FREE, data.memory.free)
        collected.set(MEMORY_USED, data.memory.size - data.memory.free)
    for admission in parts.limits.listeners:
        blocked_ns = int(admission.blocked.count * _NS)
        collected.summary(BLOCKED, BLOCKED.with_values(admission.name), blocked_ns)
    yield
    yield from _read_connections(parts.planes, collected)


def _read_connections(planes: list[Plane], collected: MetricValues) -> Steps[None]:
    """Count connections. Processors are numbered over all listeners, as in Kafka."""
    processors = [processor for plane in planes for processor in plane.processors]
    shown: set[tuple[str, str]] = set()
    expired = 0
    for number, processor in enumerate(processors):
        listener = processor.listener.name
        collected.set(PROCESSOR_IDLE, processor.parked.lately(), str(number))
        collected.set(RESPONSES_OF, processor.responses.queued, str(number))
        collected.set(CONNECTIONS, len(processor.connections), listener, str(number))
        if processor.authentication is not None:
            counts = processor.authentication.counts
            expired += counts.expired
            for metric, value in (
                (AUTHENTICATED, counts.succeeded),
                (UNAUTHENTICATED, counts.failed),
                (RENEWED, counts.renewed),
                (NOT_RENEWED, counts.failed_renewals),
                (EXPIRED, counts.expired),
            ):
                collected.set(metric, value, listener, str(number))
        clients: Counter[tuple[str, str]] = Counter()
        for seen, connection in enumerate(tuple(processor.connections.values()), 1):
            clients[_shown(connection.software, shown)] += 1
            if not seen % _A_STEP:
                yield
        for (name, version), count in clients.items():
            if collected.take(1):
                collected.set(SOFTWARE, count, name, version, listener, str(number))
        yield
    collected.set(EXPIRED_OF_ALL, expired)


def _shown(software: tuple[str, str] | None, shown: set[tuple[str, str]]) -> tuple[str, str]:
    """Return the label value for a text that a client chose."""
    if software is None:
        return UNKNOWN
    name, version = software
    client = (name[:LONGEST], version[:LONGEST])
    if client not in shown:
        if len(shown) >= MOST_SOFTWARE:
            return OTHER
        shown.add(client)
    return client
