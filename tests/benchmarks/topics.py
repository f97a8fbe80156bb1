"""Topics of one row, with librdkafka: created before it, deleted after it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Final
from uuid import uuid4

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

_UP_WITHIN_S: Final = 120  # a thousand partitions on a busy machine
_DONE_WITHIN_S: Final = 60
NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})


def client_settings(bootstrap: str, **more: object) -> dict[str, object]:
    quiet = {"log_level": 3, "enable.metrics.push": False}
    return {"bootstrap.servers": bootstrap, **quiet, **more}


@contextmanager
def temporary_topic(
    bootstrap: str, partitions: int = 1, settings: Mapping[str, str] = NO_SETTINGS
) -> Iterator[str]:
    """A topic whose partitions have their leader, gone with its data when the block ends."""
    name = f"bench-{uuid4().hex[:12]}"
    admin = AdminClient(client_settings(bootstrap))
    expected = NewTopic(name, partitions, 1, config=dict(settings))
    admin.create_topics([expected])[name].result(_DONE_WITHIN_S)
    try:
        wait_for_leaders(admin, name, partitions)
        yield name
    finally:
        # A broker that cannot delete keeps its data: its row has been measured.
        with suppress(KafkaException):
            admin.delete_topics([name])[name].result(_DONE_WITHIN_S)


def wait_for_leaders(admin: AdminClient, topic: str, partitions: int) -> None:
    """Until every partition answers: a topic is created before it is led."""
    expected = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
    end = time.monotonic() + _UP_WITHIN_S
    while True:
        # An error that was raised would keep this frame, and so the client and its threads.
        errors = [answer.exception(20) for answer in admin.list_offsets(expected).values()]
        error = next(filter(None, errors), None)
        if error is None:
            return
        if time.monotonic() > end:
            raise error
        time.sleep(0.02)


def watermarks(bootstrap: str, topic: str, partition: int = 0) -> tuple[int, int]:
    """First offset and high watermark of a partition."""
    consumer = Consumer(client_settings(bootstrap, **{"group.id": "bench"}))
    try:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=20)
    finally:
        consumer.close()
    return low, high
