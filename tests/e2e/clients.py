"""Helpers of the client tests: topics, records written and read back with librdkafka."""

import time
from collections.abc import Iterable
from uuid import uuid4

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from trio_kafka.testing.processes import BrokerProcess

_TIMEOUT_S = 30


def settings(broker: BrokerProcess, **more: object) -> dict[str, object]:
    """librdkafka's settings for this broker; `_` in a name stands for `.`."""
    named = {name.replace("_", "."): value for name, value in more.items()}
    if "group.id" in named:  # a consumer: a Fetch of an empty partition delays the next one
        named.setdefault("fetch.wait.max.ms", 20)
    return {
        "bootstrap.servers": broker.bootstrap,
        "enable.metrics.push": False,
        "log_level": 3,
        **named,
    }


def new_topic(broker: BrokerProcess, partitions: int = 1, **config: str) -> str:
    """A topic of a new name that can be written to; `_` in a setting's name stands for `.`."""
    name = f"t-{uuid4().hex[:12]}"
    named = {setting.replace("_", "."): value for setting, value in config.items()}
    topic = NewTopic(name, partitions, 1, config=named)
    admin = AdminClient(settings(broker))  # kept: what it still has to do ends with it
    admin.create_topics([topic])[name].result(_TIMEOUT_S)
    for partition in range(partitions):
        end_offset(broker, name, partition)
    return name


def end_offset(broker: BrokerProcess, topic: str, partition: int) -> int:
    """The high watermark, once the partition has a leader that answers for it.

    A topic is created before its partitions are led, and a write without acks would be lost.
    """
    consumer = Consumer(settings(broker, group_id="none"))
    topic_partition, end = TopicPartition(topic, partition), time.monotonic() + _TIMEOUT_S
    try:
        while True:
            try:
                return int(consumer.get_watermark_offsets(topic_partition, timeout=_TIMEOUT_S)[1])
            except KafkaException:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)  # no event tells a client
    finally:
        consumer.close()


def produce(producer: Producer, topic: str, values: Iterable[bytes], partition: int = 0) -> None:
    """Write all of them; AssertionError if one was refused."""
    refused: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            refused.append(error)

    for n, value in enumerate(values):
        while True:
            try:
                producer.produce(topic, value, partition=partition, on_delivery=delivered)
            except BufferError:
                producer.poll(0.1)  # its queue is full
            else:
                break
        if n % 1000 == 0:
            producer.poll(0)
    queued = producer.flush(_TIMEOUT_S)
    assert (queued, refused[:1]) == (0, [])


def read(broker: BrokerProcess, topic: str, count: int, partition: int = 0) -> list[Message]:
    """The first `count` messages of a partition. AssertionError if fewer come in 30 s."""
    consumer = Consumer(settings(broker, group_id="none", enable_auto_commit=False))
    messages: list[Message] = []
    try:
        consumer.assign([TopicPartition(topic, partition, 0)])
        while len(messages) < count:
            got = consumer.consume(min(10_000, count - len(messages)), timeout=_TIMEOUT_S)
            assert got, f"{len(messages)} messages, want {count}"
            assert [message.error() for message in got if message.error()] == []
            messages += got
    finally:
        consumer.close()
    return messages


def values_of(messages: Iterable[Message]) -> list[bytes | None]:
    return [message.value() for message in messages]
