"""Topics of one row, with librdkafka: created before it, deleted after it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

_UP_WITHIN_S = 10


def client_settings(bootstrap: str, **more: object) -> dict[str, object]:
    quiet = {"log_level": 3, "enable.metrics.push": False}
    return {"bootstrap.servers": bootstrap, **quiet, **more}


@contextmanager
def temporary_topic(bootstrap: str) -> Iterator[str]:
    """A topic of one partition that has a leader, gone with its data when the block ends."""
    name = f"bench-{uuid4().hex[:12]}"
    admin = AdminClient(client_settings(bootstrap))
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(20)
    try:
        _wait_for_leader(bootstrap, name)
        yield name
    finally:
        # A broker that cannot delete keeps its data: its row has been measured.
        with suppress(KafkaException):
            admin.delete_topics([name])[name].result(20)


def _wait_for_leader(bootstrap: str, topic: str) -> None:
    """Until the partition answers: a topic is created before it is led."""
    end = time.monotonic() + _UP_WITHIN_S
    while True:
        try:
            watermarks(bootstrap, topic)
        except KafkaException:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return


def watermarks(bootstrap: str, topic: str) -> tuple[int, int]:
    """First offset and high watermark of partition 0."""
    consumer = Consumer(client_settings(bootstrap, **{"group.id": "bench"}))
    try:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)
    finally:
        consumer.close()
    return low, high
