"""Transactions: small ones, large ones, and a reader of many that were aborted."""

import time
from functools import partial
from math import inf
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from tests.benchmarks import dialogues, protocol
from tests.benchmarks.bounds import times_other, times_own
from tests.benchmarks.connection import Connection, connect
from tests.benchmarks.figures import Figure, Figures
from tests.benchmarks.rows.registry import Target, row
from tests.benchmarks.topics import client_settings, wait_for_leaders, watermarks
from tests.benchmarks.transactional import RENEWING, TransactionalProducer

CPU: Final = partial(times_other, "server CPU")
READERS: Final = {
    "read_committed": protocol.READ_COMMITTED,
    "read_uncommitted": protocol.READ_UNCOMMITTED,
}
_FETCHED: Final = 1 << 20  # bytes of a Fetch


@row("transactions-1-record-version-1", CPU(must=2, aim=1.5), version=1)
@row("transactions-1-record-version-2", CPU(must=2, aim=1.5), version=RENEWING)
@row(
    "transactions-1000-records",
    CPU(must=1.3, aim=1),
    version=RENEWING,
    producers=1,
    partitions=10,
    records=100,
    value_size=1024,
)
def transactions(
    target: Target,
    version: int,
    producers: int = 10,
    partitions: int = 1,
    records: int = 1,
    value_size: int = 100,
) -> Figures:
    """Producers that write one transaction after the other. records: for each partition."""
    with target.topic(partitions) as topic:
        writers = [
            TransactionalProducer(
                topic=topic,
                partitions=partitions,
                values=[b"x" * value_size] * records,
                version=version,
            )
            for _ in range(producers)
        ]
        address = target.broker.address
        dialogues.run(address, (writer.begin() for writer in writers))
        with target.meter() as meter:
            ends = time.monotonic() + target.seconds
            dialogues.run(address, (writer.write(ends=ends) for writer in writers))
    times = sorted(seconds for writer in writers for seconds in writer.times)
    figures = dict(meter.requests(len(times)))
    figures["transactions"] = figures.pop("requests")
    return {"p50": Figure(times[len(times) // 2] * 1e6, "µs"), **figures}


def figure_of(reader: str) -> str:
    return f"{reader}, server CPU"


@row(
    "fetch-of-10000-transactions",
    times_own(figure_of("read_committed"), figure_of("read_uncommitted"), must=1.2, aim=1.1),
    count=10_000,
)
def fetch(target: Target, count: int) -> Figures:
    """Fetches of 1 MiB over transactions of one record, half of them aborted.

    The topic is written once for each broker. Readers take turns.
    """
    topic = written(target, count)
    spent, walks = dict.fromkeys(READERS, 0.0), 0
    with connect(target.broker.address) as connection:
        offsets, aborted = walk(connection, topic, count)
        if aborted < count // 2:
            raise ValueError(f"{aborted} aborted transactions, want {count // 2}")
        ends = time.perf_counter() + target.seconds
        while time.perf_counter() < ends:
            walks += 1
            for reader, isolation in READERS.items():
                requests = [
                    protocol.fetch_request(topic, offset, _FETCHED, isolation=isolation)
                    for offset in offsets
                ]
                with target.meter() as meter:
                    for request in requests:
                        connection.call(request)
                spent[reader] += meter.server_cpu_s
    fetches = walks * len(offsets)
    return {
        figure_of(reader): Figure(seconds / fetches * 1e6, "µs each")
        for reader, seconds in spent.items()
    }


def written(target: Target, count: int) -> str:
    """A topic of one partition with so many transactions, written before or now."""
    topic, bootstrap = f"bench-transactions-{count}", target.broker.bootstrap
    admin = AdminClient(client_settings(bootstrap))
    try:
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(60)
    except KafkaException:
        wait_for_leaders(admin, topic, 1)
    else:
        wait_for_leaders(admin, topic, 1)
    missing = count - watermarks(bootstrap, topic)[1] // 2
    if missing > 0:
        writers = [
            TransactionalProducer(topic=topic, partitions=1, values=[b"x" * 100], version=RENEWING)
            for _ in range(10)
        ]
        address = target.broker.address
        dialogues.run(address, (writer.begin() for writer in writers))
        each = -(-missing // len(writers))
        dialogues.run(address, (writer.write(ends=inf, count=each, aborts=2) for writer in writers))
    return topic


def walk(connection: Connection, topic: str, count: int) -> tuple[list[int], int]:
    """Offsets of the Fetches that read the topic, and how many aborted transactions they list."""
    offsets, offset, listed = [], 0, 0
    while offset < 2 * count:
        request = protocol.fetch_request(topic, offset, _FETCHED, isolation=protocol.READ_COMMITTED)
        error, _, aborted, records = protocol.fetched(topic, connection.call(request))
        following = protocol.next_offset(records)
        if error or following is None:
            raise ValueError(f"Fetch from {offset}: error {error}, {len(records)} bytes")
        offsets.append(offset)
        offset, listed = following, listed + aborted
    return offsets, listed
