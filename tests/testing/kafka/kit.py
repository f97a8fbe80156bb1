"""A broker under test and a client of it."""

from confluent_kafka import Consumer

from trio_kafka.controls.values import StoredRecord
from trio_kafka.testing.kafka.threaded import Kafka


def values(records: list[StoredRecord]) -> list[bytes | None]:
    return [one.value for one in records]


def consumer(kafka: Kafka, group: str = "g", **more: object) -> Consumer:
    found = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "log_level": 0,
            **more,
        }
    )
    found.subscribe(["orders"])
    return found
