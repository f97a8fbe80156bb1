"""Apache Kafka and this broker take over each other's data directories, in turn."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.benchmarks.brokers import apache_kafka_command
from tests.conftest import BRIEF_REBALANCE
from tests.e2e.clients import new_topic, read, settings, values_of
from tests.installed import APACHE_KAFKA, need_or_skip
from tests.lanes import offset_below
from trio_kafka.testing.processes import BrokerProcess, broker_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROLLS = "log.roll.ms=500"
TIMEOUT_S = 30
STARTING = {KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS}


@pytest.fixture(autouse=True)
def jvm() -> None:
    need_or_skip(*APACHE_KAFKA)


def add(broker: BrokerProcess, topic: str, values: list[bytes], codec: str) -> None:
    """Write with an idempotent producer, and commit the end of the topic for a group."""
    producer = Producer(settings(broker, enable_idempotence=True, compression_type=codec))
    for value in values:
        producer.produce(topic, value, key=value[:2], partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    consumer = Consumer(settings(broker, group_id="g", enable_auto_commit=False))
    at = TopicPartition(topic, 0)
    _, at.offset = consumer.get_watermark_offsets(at, timeout=TIMEOUT_S)
    committed(broker, topic)  # the coordinator serves
    consumer.commit(offsets=[at], asynchronous=False)
    consumer.close()


def committed(broker: BrokerProcess, topic: str) -> int:
    """The committed offset of the group, once its coordinator serves."""
    consumer = Consumer(settings(broker, group_id="g"))
    ends = time.monotonic() + TIMEOUT_S
    try:
        while True:
            try:
                (result,) = consumer.committed([TopicPartition(topic, 0)], timeout=TIMEOUT_S)
                return int(result.offset)
            except KafkaException as error:
                if not error.args[0].retriable() and error.args[0].code() not in STARTING:
                    raise
                assert time.monotonic() < ends
    finally:
        consumer.close()


def numbered(first: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + 500)]


def test_apache_kafka_and_trio_kafka_continue_each_others_data_directory(
    tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    offset = offset_below(2)  # the short form begins with one of them, the long one with each
    for number, first in enumerate(["apache-kafka", "trio-kafka"]):
        if number == offset or size(0, 1):
            continue_in_turn(tmp_path / first, first, turns=size(2, 3))


def continue_in_turn(tmp_path: Path, first: str, turns: int) -> None:
    """Serve one directory with both brokers in turn."""
    order = ["apache-kafka", "trio-kafka", "apache-kafka", "trio-kafka"]
    topic, expected = "", list[bytes]()
    data = tmp_path / "data"
    tmp_path.mkdir()

    for number, name in enumerate(order[order.index(first) :][:turns]):
        home = tmp_path / f"{number}-{name}"
        theirs = home / "data" / "log"
        if name == "trio-kafka":
            broker = broker_process(home, ROLLS, BRIEF_REBALANCE, f"log.dirs={data}")
            home.mkdir()
        else:
            theirs.parent.mkdir(parents=True)
            if number:
                shutil.copytree(data, theirs)
            broker = broker_process(home, ROLLS, BRIEF_REBALANCE, command=apache_kafka_command)
        with broker as running:
            if number == 0:
                topic = new_topic(running)
            else:
                assert values_of(read(running, topic, len(expected))) == expected
                assert committed(running, topic) == len(expected)
            codec = ("none", "lz4", "zstd")[number]
            add(running, topic, numbered(500 * number), codec)
            expected += numbered(500 * number)
        if name == "apache-kafka":
            shutil.rmtree(data, ignore_errors=True)
            shutil.copytree(theirs, data)
