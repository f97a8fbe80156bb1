"""The broker's periodic work, in virtual time."""

import pytest
import trio

from tests.broker.kit import APIS, config_of, content_of, fill, produce
from tests.records.kit import encode_batch
from trio_kafka.broker import Broker
from trio_kafka.controller.configs import ConfigChange, Operation
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.rolling import roll
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.records.batch import Record
from trio_kafka.replication.leader.append import append
from trio_kafka.world.simulated import SimulatedWorld


async def test_expired_segments_are_deleted_at_the_retention_check(world, autojump_clock) -> None:
    config = config_of({"log.retention.ms": "1000", "log.retention.check.interval.ms": "10000"})
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker)
        log = broker.replicas.partition("t", 0).local_log()
        roll(log)
        await trio.sleep(9)
        assert log.start_offset == 0
        await trio.sleep(30)
        assert log.start_offset == 1


async def test_recovery_points_are_checkpointed_regularly(world, autojump_clock) -> None:
    config = config_of({"log.flush.offset.checkpoint.interval.ms": "60000"})
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker, partitions=1)
        await trio.sleep(100)

        # It may be the one of the sync that follows the creation.
        content = content_of(world, "/data", "recovery-point-offset-checkpoint")
        assert content.startswith(b"0\n2\nt 0 ")
        assert b"\n__cluster_metadata 0 " in content


async def test_start_offsets_are_checkpointed_at_their_own_interval(world, autojump_clock) -> None:
    config = config_of(
        {
            "log.flush.offset.checkpoint.interval.ms": "60000000",
            "log.flush.start.offset.checkpoint.interval.ms": "60000",
        }
    )
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker, partitions=1)
        await trio.sleep(40)  # the first run follows the start
        broker.replicas.partition("t", 0).local_log().set_start_offset(1)
        await trio.sleep(100)

        assert b"t 0 1\n" in content_of(world, "/data", "log-start-offset-checkpoint")


START = "log.flush.start.offset.checkpoint.interval.ms"
HIGH_WATERMARK = "replica.high.watermark.checkpoint.interval.ms"
CHECKPOINTS = {
    "replica.high.watermark.checkpoint.interval.ms": "replication-offset-checkpoint",
    "log.flush.offset.checkpoint.interval.ms": "recovery-point-offset-checkpoint",
    "log.flush.start.offset.checkpoint.interval.ms": "log-start-offset-checkpoint",
}


def written(world: SimulatedWorld) -> list[str]:
    """Whose checkpoints say that an offset is 1."""
    there = world.directory("/data").names()
    return [
        setting
        for setting, name in CHECKPOINTS.items()
        if name in there and b"t 0 1\n" in content_of(world, "/data", name)
    ]


@pytest.mark.parametrize("setting", CHECKPOINTS)
async def test_each_checkpoint_file_is_written_at_its_own_interval(
    world, autojump_clock, setting: str
) -> None:
    late = dict.fromkeys(CHECKPOINTS, "60000000")
    config = config_of({**late, "log.initial.task.delay.ms": "1000", setting: "10000"})
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await trio.sleep(5)
        await fill(broker, partitions=1)
        log = broker.replicas.partition("t", 0).local_log()
        log.set_start_offset(1)
        await sync(log)
        assert written(world) == []
        await trio.sleep(12)

        # A start offset takes along the high watermark that confirms it.
        confirming = {START: HIGH_WATERMARK}.get(setting, setting)
        assert set(written(world)) == {setting, confirming}


async def test_high_watermarks_are_checkpointed_every_5_s_only_if_changed(
    world, autojump_clock
) -> None:
    name = "replication-offset-checkpoint"
    seen: list[str] = []
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker, partitions=1)
        await trio.sleep(6)
        assert content_of(world, "/data", name) == b"0\n1\nt 0 1\n"
        world.universe.fault = lambda machine, call, target: seen.append(str(target))
        await trio.sleep(20)
        assert [path for path in seen if name in path] == []
        produce(broker)
        await trio.sleep(6)
        assert [path for path in seen if name in path] != []
        assert content_of(world, "/data", name) == b"0\n1\nt 0 2\n"
        await broker.controller.delete_topics(["t"])
        await trio.sleep(6)
        assert content_of(world, "/data", name) == b"0\n0\n"


async def test_checkpoint_job_with_interval_0_runs_once(world, autojump_clock) -> None:
    config = config_of(
        {"log.flush.offset.checkpoint.interval.ms": "0", "log.initial.task.delay.ms": "30000"}
    )
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await trio.sleep(100)
        figures = {node.name: node.figures() for _, node in broker.node.walk()}
    job = figures["kafka-recovery-point-checkpoint"]
    assert (job["runs"], job["failures"], job["next_in_s"]) == (1, 0, None)


async def test_idle_producers_expire_after_producer_id_expiration_ms(world, autojump_clock) -> None:
    config = config_of(
        {"producer.id.expiration.ms": "60000", "producer.id.expiration.check.interval.ms": "10000"}
    )
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker, partitions=1)
        partition = broker.replicas.partition("t", 0)
        now = int(world.clock.wall() * 1000)
        records = [Record(timestamp=now, value=b"value")]
        batch = encode_batch(records, producer_id=7, producer_epoch=0, base_sequence=0)
        append(partition, memoryview(bytearray(batch)), acks=1)

        await trio.sleep(55)
        assert len(partition.local_log().producers) == 1
        await trio.sleep(20)
        assert len(partition.local_log().producers) == 0


async def test_change_of_producer_id_expiration_ms_applies_to_existing_producers(
    world, autojump_clock
) -> None:
    config = config_of({"producer.id.expiration.check.interval.ms": "10000"})
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker, partitions=1)
        partition = broker.replicas.partition("t", 0)
        records = [Record(timestamp=int(world.clock.wall() * 1000), value=b"value")]
        batch = encode_batch(records, producer_id=7, producer_epoch=0, base_sequence=0)
        append(partition, memoryview(bytearray(batch)), acks=1)
        await trio.sleep(100)
        assert len(partition.local_log().producers) == 1

        change = ConfigChange("producer.id.expiration.ms", Operation.SET, "60000")
        results = await broker.controller.alter_configs({(ConfigResourceType.BROKER, ""): [change]})
        assert set(results.values()) == {None}
        await trio.sleep(20)

        assert len(partition.local_log().producers) == 0


async def test_logs_are_synced_at_log_flush_interval_ms(world, autojump_clock) -> None:
    config = config_of({"log.flush.scheduler.interval.ms": "1000", "log.flush.interval.ms": "5000"})
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker)
        log = broker.replicas.partition("t", 0).local_log()
        await trio.sleep(3)
        produce(broker)
        early = log.recovery_point
        await trio.sleep(7)

        assert early < log.recovery_point == 2


async def test_files_of_a_deleted_topic_are_deleted_after_the_delay_and_the_job_ends(
    world, autojump_clock
) -> None:
    config = config_of({"log.segment.delete.delay.ms": "60000"})

    def partition_directories() -> list[str]:
        return [name for name in world.directory("/data").names() if name.startswith("t-")]

    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker, partitions=2)
        await broker.controller.delete_topics(["t"])
        await trio.sleep(50)
        assert [name.endswith("-delete") for name in partition_directories()] == [True, True]
        await trio.sleep(15)
        assert partition_directories() == []
        figures = {node.name: node.figures() for _, node in broker.node.walk()}
        assert figures["kafka-delete-logs"]["next_in_s"] is None


async def test_next_start_deletes_files_of_deleted_topics_after_the_changed_delay(
    world, autojump_clock
) -> None:
    config = config_of({"log.segment.delete.delay.ms": "6000000"})

    def partition_directories() -> list[str]:
        return [name for name in world.directory("/data").names() if name.startswith("t-")]

    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker, partitions=1)
        change = ConfigChange("log.segment.delete.delay.ms", Operation.SET, "5000")
        await broker.controller.alter_configs({(ConfigResourceType.BROKER, ""): [change]})
        await broker.controller.delete_topics(["t"])
    assert [name.endswith("-delete") for name in partition_directories()] == [True]

    async with Broker(config, world, apis=APIS):
        await trio.sleep(100)
        assert partition_directories() == []
