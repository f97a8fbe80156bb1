"""The mixed load of the hour: a steady pace of everything, connections and topics that come and go.

What is written in a minute is many times what is kept: logs roll and are deleted all the time.
"""

from typing import Final

from tests.benchmarks import protocol
from tests.benchmarks.connection import connect
from tests.benchmarks.rows.idle import held
from tests.benchmarks.rows.raw import make_batch
from tests.benchmarks.rows.sessions import Session
from tests.benchmarks.soak.load import Load, Part
from tests.benchmarks.topics import temporary_topic, watermarks

KEPT: Final = {"segment.bytes": str(8 << 20), "retention.bytes": str(32 << 20)}
SETTINGS: Final = ("log.retention.check.interval.ms=5000",)
OFFSET_OUT_OF_RANGE: Final = 1


def produce_large(load: Load, topic: str) -> None:
    """9 MB/s in batches of 900 kB."""
    request = protocol.produce_request(topic, make_batch(100, 900_000)[0], acks=-1)
    with connect(load.broker.address) as connection:
        for _ in load.paced(0.1):
            error = protocol.produce_error(topic, connection.call(request))
            load.check("large produce", error)


def produce_small(load: Load, topic: str) -> None:
    """200 records a second, one by one."""
    request = protocol.produce_request(topic, protocol.record_batch([b"x" * 100]), acks=1)
    with connect(load.broker.address) as connection:
        for _ in load.paced(0.005):
            load.check("small produce", protocol.produce_error(topic, connection.call(request)))


def fetch_on(load: Load, topic: str) -> None:
    """Follow what is written, in a session; from the first offset again where that is gone."""
    with connect(load.broker.address) as connection:
        session, offset = Session(connection, topic, [0]), 0
        for _ in load.paced(0.02):
            session.ask(0, offset, wait_ms=500, partition_size=1 << 20)
            answer = protocol.poll_answer(topic, connection.answer())
            if answer.error == OFFSET_OUT_OF_RANGE:
                offset = watermarks(load.broker.bootstrap, topic)[0]
                load.done["start again"] += 1
                continue
            load.check("poll", answer.error)
            offset = protocol.next_offset(answer.records) or offset
            load.done["records read"] = max(load.done["records read"], offset)


def ask(load: Load, topic: str) -> None:
    """100 Metadata and 100 ApiVersions a second."""
    requests = (protocol.metadata_request(topic), protocol.frame(protocol.API_VERSIONS, 0))
    with connect(load.broker.address) as connection:
        for number in load.paced(0.005):
            connection.call(requests[number % 2])
            load.done["metadata, versions"] += 1


def come_and_go(load: Load, topic: str) -> None:
    """50 connections every half a second; some leave while their poll is parked."""
    del topic
    with temporary_topic(load.broker.bootstrap) as silent:
        poll = protocol.poll_request(silent, [(0, 0)], wait_ms=60_000)
        for _ in load.paced(0.5):
            with held(load.broker.address, 50) as connections:
                for each in connections[:10]:
                    each.sendall(poll)
            load.done["connections"] += 50


def make_and_delete(load: Load, topic: str) -> None:
    """A topic of 20 partitions, one record in each, all read, every two seconds."""
    del topic
    batch = protocol.record_batch([b"x" * 100])
    for _ in load.paced(2):
        with (
            temporary_topic(load.broker.bootstrap, 20) as mine,
            connect(load.broker.address) as connection,
        ):
            request = protocol.produce_request(mine, batch, acks=-1, partitions=20)
            load.check("wide produce", protocol.produce_error(mine, connection.call(request)))
            poll = protocol.poll_request(mine, [(number, 0) for number in range(20)])
            load.check("wide poll", protocol.poll_answer(mine, connection.call(poll)).error)
        load.done["topics"] += 1


PARTS: Final[tuple[Part, ...]] = (
    produce_large,
    produce_small,
    fetch_on,
    fetch_on,
    ask,
    come_and_go,
    make_and_delete,
)
