"""Topics for tests, by a client that is not ours: created, and read to the end."""

from typing import Final

from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

TIMEOUT_S: Final = 30.0


def create_topic(
    bootstrap: str, name: str, partitions: int = 1, config: dict[str, str] | None = None
) -> None:
    """A topic, which is there when this returns."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(name, partitions, 1, config=config or {})
    for made in admin.create_topics([new]).values():
        made.result(TIMEOUT_S)


def read_topic(bootstrap: str, name: str) -> list[Message]:
    """All records of a topic, partition by partition, up to the ends of now."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "tests",
            "enable.auto.commit": False,
            "enable.partition.eof": False,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        known = consumer.list_topics(name, TIMEOUT_S).topics[name].partitions
        found: list[Message] = []
        for partition in sorted(known):
            where = TopicPartition(name, partition)
            start, end = consumer.get_watermark_offsets(where, TIMEOUT_S, cached=False)
            if start == end:
                continue
            where.offset = start
            consumer.assign([where])
            while not found or found[-1].partition() != partition or found[-1].offset() < end - 1:
                message = consumer.poll(TIMEOUT_S)
                assert message is not None, f"{name}-{partition}: nothing before {end}"
                assert message.error() is None, message.error()
                found.append(message)
        return found
    finally:
        consumer.close()
