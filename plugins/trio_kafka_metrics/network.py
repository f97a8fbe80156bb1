"""What the planes are like: who is connected, what waits, how idle they are.

Names and versions of clients are theirs to choose: so many pairs are shown, the rest is together.
"""

from collections import Counter
from typing import Final

from trio_kafka.network.plane import Plane
from trio_kafka.plugin import Steps
from trio_kafka.requests.parts import Parts
from trio_kafka_metrics.readings import Readings, of_bean

MOST_SOFTWARE: Final = 50  # names with versions
LONGEST: Final = 64  # characters of a name, or of a version
OTHER: Final = ("other", "other")
UNKNOWN: Final = ("unknown", "unknown")  # Kafka's word for who says nothing
_A_STEP: Final = 256  # connections: about 0.2 ms
_NS: Final = 1e9
_SOCKETS: Final = "kafka.network:type=SocketServer,name="
_QUEUES: Final = "kafka.network:type=RequestChannel,name="
_POOL: Final = "kafka.server:type=KafkaRequestHandlerPool,name="
_CLIENTS: Final = "kafka.server:type=socket-server-metrics"

NETWORK_IDLE = of_bean(
    f"{_SOCKETS}NetworkProcessorAvgIdlePercent", "How idle the network is, 0 to 1."
)
MEMORY_FREE = of_bean(f"{_SOCKETS}MemoryPoolAvailable", "Bytes of queued.max.request.bytes left.")
MEMORY_USED = of_bean(f"{_SOCKETS}MemoryPoolUsed", "Bytes of requests that came and are in hand.")
PROCESSOR_IDLE = of_bean(
    "kafka.network:type=Processor,name=IdlePercent,networkProcessor={networkProcessor}",
    "How idle a processor is, 0 to 1.",
)
HANDLERS_IDLE = of_bean(
    f"{_POOL}RequestHandlerAvgIdlePercent", "How idle the request handlers are, 0 to 1.", "MeanRate"
)
BROKER_IDLE = of_bean(
    f"{_POOL}BrokerRequestHandlerAvgIdlePercent", "The same: they are the broker's.", "MeanRate"
)
BLOCKED = of_bean(
    "kafka.network:type=Acceptor,name=AcceptorBlockedPercent,listener={listener}",
    "Nanoseconds in which a listener accepted nothing, though it might.",
    "Count",
)
REQUESTS = of_bean(f"{_QUEUES}RequestQueueSize", "Requests that wait for a handler.")
RESPONSES = of_bean(f"{_QUEUES}ResponseQueueSize", "Answers that wait for their processor.")
RESPONSES_OF = of_bean(
    f"{_QUEUES}ResponseQueueSize,processor={{processor}}", "Answers that wait for a processor."
)
CONNECTIONS = of_bean(
    f"{_CLIENTS},listener={{listener}},networkProcessor={{networkProcessor}}",
    "Connections.",
    "connection-count",
)
SOFTWARE = of_bean(
    f"{_CLIENTS},clientSoftwareName={{clientSoftwareName}}"
    ",clientSoftwareVersion={clientSoftwareVersion}"
    ",listener={listener},networkProcessor={networkProcessor}",
    "Connections by what the client says it is (KIP-511).",
    "connections",
)


def read_network(parts: Parts, readings: Readings) -> Steps[None]:
    """In steps of some connections. What has no label is of the data plane."""
    data = parts.planes[0]
    readings.set(NETWORK_IDLE, data.idle.network())
    readings.set(HANDLERS_IDLE, data.idle.handlers())
    readings.set(BROKER_IDLE, data.idle.handlers())
    readings.set(REQUESTS, data.requests.queued)
    readings.set(RESPONSES, sum(one.responses.queued for one in data.processors))
    if data.memory is not None:
        readings.set(MEMORY_FREE, data.memory.free)
        readings.set(MEMORY_USED, data.memory.size - data.memory.free)
    for admission in parts.limits.listeners:
        blocked_ns = int(admission.blocked.count * _NS)
        readings.summary(BLOCKED, BLOCKED.with_values(admission.name), blocked_ns)
    yield
    yield from _read_connections(parts.planes, readings)


def _read_connections(planes: list[Plane], readings: Readings) -> Steps[None]:
    """Processors have numbers of their own for all listeners, as in Kafka."""
    processors = [processor for plane in planes for processor in plane.processors]
    shown: set[tuple[str, str]] = set()
    for number, processor in enumerate(processors):
        listener = processor.listener.name
        readings.set(PROCESSOR_IDLE, processor.parked.lately(), str(number))
        readings.set(RESPONSES_OF, processor.responses.queued, str(number))
        readings.set(CONNECTIONS, len(processor.connections), listener, str(number))
        clients: Counter[tuple[str, str]] = Counter()
        for seen, connection in enumerate(tuple(processor.connections.values()), 1):
            clients[_shown(connection.software, shown)] += 1
            if not seen % _A_STEP:
                yield
        for (name, version), count in clients.items():
            if readings.take(1):
                readings.set(SOFTWARE, count, name, version, listener, str(number))
        yield


def _shown(software: tuple[str, str] | None, shown: set[tuple[str, str]]) -> tuple[str, str]:
    """What is told of a client."""
    if software is None:
        return UNKNOWN
    name, version = software
    client = (name[:LONGEST], version[:LONGEST])
    if client not in shown:
        if len(shown) >= MOST_SOFTWARE:
            return OTHER
        shown.add(client)
    return client
