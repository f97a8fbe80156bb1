"""Apache Kafka starts on a log that was compacted here, and compacts it further."""

import shutil
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.benchmarks.brokers import apache_kafka_command
from tests.installed import APACHE_KAFKA, need_or_skip
from tests.log.cleaner.logs import (
    all_pairs,
    content,
    fill_log,
    managed,
    new_cleaner,
    new_log,
    write,
)
from trio_kafka.testing.processes import BrokerProcess, broker_process
from trio_kafka.world.real import RealWorld

TOPIC = "compacted"
SMALL = {"segment_bytes": 20_000, "delete_retention_ms": 0}
WAIT_S = 60.0


async def compacted_log(path: Path) -> dict[str, str | None]:
    """Write a log, compact it several times, and return its pairs by key."""
    manager = await managed(RealWorld(), root=str(path), **SMALL)
    log = new_log(manager, **SMALL)
    cleaner = new_cleaner(manager)
    for _ in range(3):
        fill_log(log, keys=100, rounds=20)
        write(log, *((f"k{number}", None) for number in range(0, 100, 3)))
        await cleaner.clean_now(log)
    write(log, ("last", "1"))
    result = await content(log)
    assert any(segment.sealed and not segment.size for segment in log.segments)
    await manager.close()
    return result


def create_topic(kafka: BrokerProcess) -> None:
    settings = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.0"}
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    topic = NewTopic(TOPIC, num_partitions=1, replication_factor=1, config=settings)
    admin.create_topics([topic])[TOPIC].result(60)


def replace_files(theirs: Path, ours: Path) -> None:
    """Put the files of our partition in place of those of a stopped broker."""
    for file in theirs.iterdir():
        if file.name != "partition.metadata":
            file.unlink()
    for file in ours.iterdir():
        if file.name != "partition.metadata":
            shutil.copy(file, theirs / file.name)


def read_topic(kafka: BrokerProcess) -> list[tuple[int, str, str | None]]:
    """Return offset, key and value of every record."""
    settings = {"bootstrap.servers": kafka.bootstrap, "group.id": "g", "enable.partition.eof": True}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    result: list[tuple[int, str, str | None]] = []
    ends = time.monotonic() + WAIT_S
    while time.monotonic() < ends:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            break  # the end of the partition
        value = message.value()
        text = None if value is None else value.decode()
        result.append((message.offset(), message.key().decode(), text))
    consumer.close()
    return result


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_apache_kafka_reads_and_compacts_a_log_that_this_broker_compacted(
    tmp_path: Path,
) -> None:
    need_or_skip(*APACHE_KAFKA)
    ours = tmp_path / "ours"
    expected = await compacted_log(ours)
    disabled = "log.cleaner.enable=false"
    with broker_process(tmp_path, disabled, command=apache_kafka_command) as kafka:
        create_topic(kafka)
        directory = kafka.data / "log"
    partition = directory / f"{TOPIC}-0"
    replace_files(partition, ours / "c-0")

    with broker_process(tmp_path, disabled, command=apache_kafka_command) as kafka:
        first = read_topic(kafka)
    with broker_process(tmp_path, "log.cleaner.backoff.ms=100", command=apache_kafka_command):
        ends = time.monotonic() + WAIT_S
        checkpoint = directory / "cleaner-offset-checkpoint"
        while not checkpoint.exists() or TOPIC not in checkpoint.read_text():
            assert time.monotonic() < ends
            time.sleep(0.2)

    assert {key: value for _, key, value in first} == expected
    replace_files(ours / "c-0", partition)
    manager = await managed(RealWorld(), root=str(ours), fresh=False, **SMALL)
    (log,) = manager.logs
    assert {key: value for _, key, value in await all_pairs(log) if value is not None} == {
        key: value for key, value in expected.items() if value is not None
    }
    await manager.close()
