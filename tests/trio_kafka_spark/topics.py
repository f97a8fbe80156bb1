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
    for creation in admin.create_topics([new]).values():
        creation.result(TIMEOUT_S)


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
        partitions = consumer.list_topics(name, TIMEOUT_S).topics[name].partitions
        ends = {}
        for partition in partitions:
            where = TopicPartition(name, partition)
            start, end = consumer.get_watermark_offsets(where, TIMEOUT_S, cached=False)
            if start < end:
                ends[partition] = (start, end)
        # All at once: a change of the assignment waits for the fetch that is in flight.
        consumer.assign(
            [TopicPartition(name, number, start) for number, (start, _) in ends.items()]
        )
        messages: list[Message] = []
        while ends:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"{name}: nothing more before {ends}"
            assert message.error() is None, message.error()
            partition, offset = message.partition(), message.offset()
            if partition in ends:
                messages.append(message)
                if offset >= ends[partition][1] - 1:
                    del ends[partition]
        return sorted(messages, key=lambda message: (message.partition(), message.offset()))
    finally:
        consumer.close()
