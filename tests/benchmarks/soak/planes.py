"""The load on the planes: who takes part in it, at which broker, and what must not be exceeded."""

from contextlib import ExitStack
from typing import Final

from tests.benchmarks import protocol
from tests.benchmarks.connection import connect
from tests.benchmarks.rows.raw import make_batch
from tests.benchmarks.soak import changes, crowds, many, over, pages
from tests.benchmarks.soak.bounds import Limits
from tests.benchmarks.soak.load import Load, Part
from tests.benchmarks.topics import temporary_topic
from trio_kafka.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    EntryData,
    OpData,
)
from trio_kafka.protocol.structs.cluster import EntityData
from trio_kafka.testing.ports import unused_port

POOL: Final = 32 << 20  # queued.max.request.bytes
NAMES: Final = ("PLAINTEXT", crowds.STORM, *changes.OTHERS)
PARTS: Final[tuple[Part, ...]] = (
    many.produce_much,
    many.ask_much,
    many.fetch_much,
    many.park_much,
    crowds.storm,
    crowds.crowd_one_address,
    crowds.connect_in_haste,
    crowds.never_read,
    crowds.read_slowly,
    crowds.promise_giants,
    crowds.reset_halfway,
    over.over_produce,
    over.over_fetch,
    over.over_request,
    over.over_mutation,
    changes.change_listeners,
    changes.change_sizes,
    changes.reload_plugin,
    pages.look_at_pages,
)


def settings(connections: int, http: int) -> tuple[str, ...]:
    """Of a broker with narrow limits. http: a port for pages."""
    storm = f"listener.name.{crowds.STORM.lower()}"
    return (
        "log.retention.check.interval.ms=5000",
        f"listener.security.protocol.map={','.join(f'{name}:PLAINTEXT' for name in NAMES)}",
        f"max.connections={connections * 2 + 200}",
        # Of who left before he was accepted the kernel may say nothing.
        "connections.max.idle.ms=15000",
        f"max.connections.per.ip.overrides={crowds.CROWDED}:{crowds.CROWD}",
        f"{storm}.max.connections={connections // 2}",
        f"{storm}.max.connection.creation.rate={connections // 2}",
        f"socket.request.max.bytes={crowds.LARGEST}",
        f"queued.max.request.bytes={POOL}",
        "queued.max.requests=100",
        "plugin.audit.enabled=true",
        "plugin.audit.topic=",
        f"plugin.http.listeners=http://127.0.0.1:{http}",
    )


def limits(connections: int) -> Limits:
    """Limits that these settings promise."""
    return Limits(
        connections=connections * 2 + 200,
        storm=connections // 2,
        pool=POOL,
        largest=crowds.LARGEST,
    )


def prepare(load: Load, stack: ExitStack) -> None:
    """Quotas, another listener, and a topic that holds 4 MB, first a little."""
    crowds.allow_descriptors()
    load.full = stack.enter_context(temporary_topic(load.broker.bootstrap))
    batches = [protocol.record_batch([b"x" * 900])] + 8 * [make_batch(100, 500_000)[0]]
    with connect(load.broker.address, 1 << 16) as connection:
        for batch in batches:
            request = protocol.produce_request(load.full, batch, acks=-1)
            error = protocol.produce_error(load.full, connection.call(request))
            if error:
                raise ValueError(f"produce: error {error}")
    entries = [
        EntryData([EntityData("client-id", name)], [OpData(key, value)])
        for name, (key, value) in over.QUOTAS.items()
    ]
    haste = OpData("connection_creation_rate", float(crowds.HASTE))
    entries.append(EntryData([EntityData("ip", crowds.HASTY)], [haste]))
    for entry in changes.ask(load, AlterClientQuotasRequest(entries)).entries:
        if entry.error_code:
            raise ValueError(f"{entry.entity}: {entry.error_message}")
    load.places[crowds.STORM] = "127.0.0.1", unused_port()
    changes.set_listeners(load)
