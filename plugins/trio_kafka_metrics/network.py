"""Metrics of the planes: connections, queues, idle ratios.

Clients choose their software names and versions freely, so the number of pairs shown is bounded;
the rest is summed up.
"""

from collections import Counter
from typing import Final

from trio_kafka.network.authentication.phase import AuthenticationCounts
from trio_kafka.network.plane import Plane
from trio_kafka.network.processor import Processor
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
    _PROCESSOR,
    "Connections that have authenticated, by SASL or by a TLS handshake.",
    "successful-authentication-total",
)
NOT_RENEWABLE = of_bean(
    _PROCESSOR,
    "Of them, connections of clients that cannot renew a session.",
    "successful-authentication-no-reauth-total",
)
UNAUTHENTICATED = of_bean(
    _PROCESSOR,
    "Connections that failed to authenticate. Failed TLS handshakes of a listener count for its"
    " first processor.",
    "failed-authentication-total",
)
RENEWED = of_bean(
    _PROCESSOR, "Sessions that were renewed (KIP-368).", "successful-reauthentication-total"
)
NOT_RENEWED = of_bean(_PROCESSOR, "Sessions whose renewal failed.", "failed-reauthentication-total")
RENEWAL_AVERAGE = of_bean(
    _PROCESSOR,
    "Average time of a renewal in the last minute, ms.",
    "reauthentication-latency-avg",
)
RENEWAL_LARGEST = of_bean(
    _PROCESSOR,
    "Longest time of a renewal in the last minute, ms.",
    "reauthentication-latency-max",
)
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

SUITES = of_bean(
    f"{_CLIENTS},cipher={{cipher}},protocol={{protocol}}"
    ",listener={listener},networkProcessor={networkProcessor}",
    "Connections by cipher suite and version of TLS.",
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
    _read_logins(parts, collected)
    yield
    yield from _read_connections(parts.planes, collected)


def _read_logins(parts: Parts, collected: MetricValues) -> None:
    """Read the counters of logins. A TLS handshake is one, where there is no SASL, as in Kafka."""
    expired = 0
    seen = set[str]()
    for number, processor in enumerate(_processors(parts.planes)):
        listener = processor.listener
        labels = listener.name, str(number)
        phase = processor.authentication
        if phase is None and not listener.has_tls:
            continue
        counts = AuthenticationCounts() if phase is None else phase.counts
        accepted = processor.table.accepted if phase is None else 0
        handshakes = 0
        if listener.has_tls and listener.name not in seen:
            seen.add(listener.name)
            handshakes = parts.counters.value(
                "tls_handshakes", listener=listener.name, result="failed"
            )
        expired += counts.expired
        now = processor.resources.budget.elapsed()
        for metric, value in (
            (AUTHENTICATED, counts.succeeded + accepted),
            (NOT_RENEWABLE, counts.without_renewal + accepted),
            (UNAUTHENTICATED, counts.failed + handshakes),
            (RENEWED, counts.renewed),
            (NOT_RENEWED, counts.failed_renewals),
            (RENEWAL_AVERAGE, counts.renewal_ms.average(now)),
            (RENEWAL_LARGEST, counts.renewal_ms.largest(now)),
            (EXPIRED, counts.expired),
        ):
            if value is not None:
                collected.set(metric, value, *labels)
    collected.set(EXPIRED_OF_ALL, expired)


def _read_connections(planes: list[Plane], collected: MetricValues) -> Steps[None]:
    """Count connections."""
    shown: set[tuple[str, str]] = set()
    for number, processor in enumerate(_processors(planes)):
        listener = processor.listener.name
        collected.set(PROCESSOR_IDLE, processor.parked.lately(), str(number))
        collected.set(RESPONSES_OF, processor.responses.queued, str(number))
        collected.set(CONNECTIONS, len(processor.connections), listener, str(number))
        clients: Counter[tuple[str, str]] = Counter()
        suites: Counter[tuple[str, str]] = Counter()
        for seen, connection in enumerate(tuple(processor.connections.values()), 1):
            clients[_shown(connection.software, shown)] += 1
            if processor.listener.has_tls:
                suite = getattr(connection.socket, "suite", None)
                if suite is not None:
                    suites[suite] += 1
            if not seen % _A_STEP:
                yield
        for (name, version), count in clients.items():
            if collected.take(1):
                collected.set(SOFTWARE, count, name, version, listener, str(number))
        for (suite, version), count in suites.items():
            if collected.take(1):
                collected.set(SUITES, count, suite, version, listener, str(number))
        yield


def _processors(planes: list[Plane]) -> list[Processor]:
    """Return all processors. They are numbered over all listeners, as in Kafka."""
    return [processor for plane in planes for processor in plane.processors]


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
