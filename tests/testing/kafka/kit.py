"""A broker under test and a client of it."""

import time

from confluent_kafka import Consumer

from trio_kafka.controls.values import StoredRecord
from trio_kafka.testing.kafka.threaded import Kafka


def values(records: list[StoredRecord]) -> list[bytes | None]:
    return [record.value for record in records]


def consumer(kafka: Kafka, group: str = "g", **more: object) -> Consumer:
    reader = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "log_level": 0,
            "fetch.wait.max.ms": 20,  # partitions without records delay those with some
            **more,
        }
    )
    reader.subscribe(["orders"])
    return reader


def await_assignment(reader: Consumer, *, within_s: float = 20.0) -> None:
    """Poll until partitions are assigned. librdkafka's `close` can wait for ever behind an
    assignment that nothing has taken yet.
    """
    end = time.monotonic() + within_s
    while not reader.assignment():
        assert time.monotonic() < end, "no partition was assigned"
        reader.poll(0.05)
