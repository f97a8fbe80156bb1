"""The cleaner of a broker follows the settings, and keeps logs small."""

from functools import partial

import pytest

from trio_kafka.controls.ask import ask
from trio_kafka.controls.values import Record
from trio_kafka.coordinators.shards.shard import ShardState
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.testing.kafka.threaded import running_broker

COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "1000"}


def values(kafka):
    return [record.value for record in kafka.records("latest")]


def write(kafka, count=6):
    for number in range(count):
        kafka.produce("latest", Record(key="a", value=str(number)))
        kafka.advance(seconds=2)


def test_broker_compacts_topics_with_cleanup_policy_compact():
    with running_broker() as kafka:
        kafka.create_topic("latest", configs=COMPACTED)
        write(kafka)
        kafka.advance(seconds=60)

        assert values(kafka) == [b"4", b"5"]


def test_topics_are_not_compacted_with_log_cleaner_disabled():
    with running_broker({"log.cleaner.enable": "false"}) as kafka:
        kafka.create_topic("latest", configs=COMPACTED)
        write(kafka)
        kafka.advance(seconds=60)

        assert len(values(kafka)) == 6


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("log.cleaner.threads", "2", "threads", 2),
        ("log.cleaner.backoff.ms", "7", "backoff_ms", 7),
        ("log.cleaner.dedupe.buffer.size", "9000000", "dedupe_buffer_bytes", 9_000_000),
        ("log.cleaner.io.buffer.size", "9000", "io_buffer_bytes", 9000),
        ("log.cleaner.io.buffer.load.factor", "0.5", "load_factor", 0.5),
        ("log.cleaner.io.max.bytes.per.second", "5e6", "io_max_bytes_per_second", 5e6),
    ],
)
def test_cleaner_setting_changes_take_effect_while_the_broker_runs(name, text, field, value):
    with running_broker() as kafka:
        change = AlterableConfig(name=name, config_operation=0, value=text)
        resource = AlterConfigsResource(resource_type=4, resource_name="", configs=[change])
        kafka.thread.call(partial(ask, kafka.broker, IncrementalAlterConfigsRequest([resource])))
        settings = kafka.look(lambda broker: broker.parts.cleaner.settings)

    assert getattr(settings, field) == value


def test_tree_has_the_log_cleaner_and_its_threads():
    with running_broker({"log.cleaner.threads": "2"}) as kafka:
        names = kafka.look(lambda broker: [node.name for _, node in broker.node.walk()])

    assert {"log-cleaner", "cleaner-0", "cleaner-1"} <= set(names)


@pytest.mark.slow
def test_broker_restores_committed_offsets_from_a_compacted_offsets_topic(size):
    partitions, rounds = 100, size(400, 10_000)
    settings = {"offsets.topic.segment.bytes": str(1 << 20)}
    with running_broker(settings, topics={"orders": partitions}) as kafka:

        async def commit(first, last):
            for number in range(first, last):
                at = [
                    OffsetCommitRequestPartition(partition, number)
                    for partition in range(partitions)
                ]
                topics = [OffsetCommitRequestTopic("orders", partitions=at)]
                request = OffsetCommitRequest("g", topics=topics)
                await ask(kafka.broker, request, 9)

        step = 100
        for first in range(0, rounds, step):
            kafka.thread.call(partial(commit, first, first + step))
            kafka.advance(seconds=16)
        kafka.advance(minutes=11)
        before = kafka.look(size_of_offsets)
        kafka.restart()

        kafka.wait_until(lambda: is_loaded(kafka.broker))
        group = kafka.group("g")
        assert group.offsets == {
            ("orders", partition): rounds - 1 for partition in range(partitions)
        }
        moved, end, stored = before
        assert end > 0.9 * rounds * partitions  # the first ones made the topic
        assert stored < 3 << 20
        print(f"{end} commits, {moved} bytes read and written by the cleaner, {stored} left")


def is_loaded(broker):
    shards = broker.parts.groups.runtime.shards.values()
    return bool(shards) and all(shard.state is ShardState.ACTIVE for shard in shards)


def size_of_offsets(broker):
    """Bytes that the cleaner has moved, and the end and the bytes of `__consumer_offsets`."""
    log = broker.logs.get(TopicPartition("__consumer_offsets", 0))
    return broker.parts.cleaner.moved_bytes, log.end_offset, log.size
