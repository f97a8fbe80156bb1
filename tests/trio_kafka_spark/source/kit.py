"""Topics and records for tests of the source, made with confluent-kafka."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

FIRST_MS = 1_700_000_000_000
WAIT_S = 30.0


@frozen(kw_only=True)
class Record:
    """Record to write; None as `timestamp` is the clock's."""

    key: bytes | None = None
    value: bytes | None = None
    partition: int = 0
    timestamp: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


def create_topic(
    bootstrap: str, topic: str, partitions: int = 2, config: Mapping[str, str] | None = None
) -> str:
    new = NewTopic(topic, partitions, 1, config=dict(config or {}))
    client = admin(bootstrap)
    client.create_topics([new])[topic].result(WAIT_S)
    return topic


def delete_topic(bootstrap: str, topic: str) -> None:
    client = admin(bootstrap)
    client.delete_topics([topic])[topic].result(WAIT_S)


def delete_records(bootstrap: str, topic: str, before: int, partition: int = 0) -> None:
    """Delete the records below an offset."""
    client = admin(bootstrap)
    (done,) = client.delete_records([TopicPartition(topic, partition, before)]).values()
    done.result(WAIT_S)


def add_partitions(bootstrap: str, topic: str, total: int) -> None:
    new = NewPartitions(topic, total)
    client = admin(bootstrap)
    client.create_partitions([new])[topic].result(WAIT_S)


def produce(bootstrap: str, topic: str, records: Iterable[Record], **settings: Any) -> None:
    """Write records, all of them acknowledged, with librdkafka's settings."""
    names = {name.replace("_", "."): value for name, value in settings.items()}
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **names})
    failed: list[str] = []
    for record in records:
        producer.produce(
            topic,
            record.value,
            record.key,
            record.partition,
            timestamp=record.timestamp or 0,
            headers=list(record.headers),
            on_delivery=lambda error, _: failed.append(str(error)) if error else None,
        )
        producer.poll(0)
    assert producer.flush(WAIT_S) == 0
    assert failed == []


def numbered(count: int, *, partitions: int = 2, first: int = 0) -> list[Record]:
    """Records with keys and values in order, a millisecond apart, in turn to each partition."""
    return [
        Record(
            key=b"k%d" % number,
            value=b"value %d" % number,
            partition=number % partitions,
            timestamp=FIRST_MS + number,
        )
        for number in range(first, first + count)
    ]


def peculiar() -> list[Record]:
    """Records with null and empty keys and values, and headers of all sorts."""
    return [
        Record(timestamp=FIRST_MS),
        Record(key=b"", value=b"", timestamp=FIRST_MS + 1),
        Record(key=b"k", timestamp=FIRST_MS + 2, partition=1),
        Record(value=b"v", timestamp=FIRST_MS + 3, headers=(("h", b"1"), ("h", None), ("", b""))),
        Record(
            key=bytes(range(256)),
            value=b"x" * 5000,
            timestamp=FIRST_MS + 4,
            headers=(("größe", "ü".encode()),),
        ),
    ]
