"""A client that is killed: consumes, transforms, and produces with its offsets in one transaction.

    python -m tests.e2e.read_process_write BOOTSTRAP SOURCE TARGET NAME

NAME is its transactional id and its static member of the group. After any error it begins anew: a
new producer of this id ends what is open, and the consumer continues from the group's offsets.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, Producer

GROUP: Final = "read-process-write"
AT_ONCE: Final = 10  # records of a transaction
TIMEOUT_S: Final = 30


def transform(value: bytes) -> bytes:
    return b"out-" + value


def process(
    producer: Producer, consumer: Consumer, messages: Sequence[Message], target: str
) -> None:
    """Write one transaction. KafkaException: it may be committed, aborted or open."""
    producer.begin_transaction()
    for message in messages:
        producer.produce(target, transform(message.value() or b""), partition=message.partition())
    producer.send_offsets_to_transaction(
        consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), TIMEOUT_S
    )
    producer.commit_transaction(TIMEOUT_S)


def work(bootstrap: str, source: str, target: str, name: str) -> None:
    """Process what comes, until an error."""
    common = {
        "bootstrap.servers": bootstrap,
        "enable.metrics.push": False,
        "log_level": 0,
        # When it bootstraps again, librdkafka 2.16 forgets its brokers but not the coordinator of
        # the group: offsets are then sent to no one until the transaction has timed out.
        "metadata.recovery.strategy": "none",
    }
    producer = Producer({**common, "transactional.id": name})
    producer.init_transactions(TIMEOUT_S)
    consumer = Consumer(
        {
            **common,
            "group.id": GROUP,
            "group.instance.id": name,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.subscribe([source])
        while True:
            polled = consumer.consume(AT_ONCE, TIMEOUT_S)
            messages = [message for message in polled if not message.error()]
            if messages:
                process(producer, consumer, messages, target)
    finally:
        consumer.close()


def main(bootstrap: str, source: str, target: str, name: str) -> None:
    while True:
        with suppress(KafkaException):
            work(bootstrap, source, target, name)


if __name__ == "__main__":
    main(*sys.argv[1:])
