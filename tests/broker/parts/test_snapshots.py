"""Snapshots of the metadata, as the settings say."""

import errno

import pytest
import trio

from tests.broker.kit import APIS, config_of, fill
from trio_kafka.broker import Broker
from trio_kafka.controller.topics import NewTopic
from trio_kafka.errors import LogDirError
from trio_kafka.raft.snapshot import BOOTSTRAP
from trio_kafka.testing.simulation import fault_on

METADATA = "/data/__cluster_metadata-0"
BROKEN = OSError(errno.EIO, "Input/output error")


def snapshots(world) -> list[str]:
    """Their names, but for the one that formatting wrote."""
    names = world.directory(METADATA).names()
    return [
        name for name in names if name.endswith(".checkpoint") and not name.startswith("0" * 20)
    ]


@pytest.mark.slow
async def test_snapshot_is_written_after_enough_metadata_bytes_and_read_by_the_next_start(
    world, autojump_clock
) -> None:
    config = config_of(
        {
            "metadata.log.max.record.bytes.between.snapshots": "4000",
            "metadata.max.retention.bytes": "60000",
        }
    )
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        for number in range(150):
            await broker.controller.create_topics([NewTopic(name=f"t{number}")])
        await trio.sleep(1)
        figures = {node.name: node.figures() for _, node in broker.node.walk()}
        assert figures["snapshot-generator"]["written"] > 2
        written = figures["snapshot-generator"]["written"]
        assert 0 < len(snapshots(world)) < written - 1  # the oldest are gone, and that of format
        assert not world.directory(METADATA).exists(BOOTSTRAP.name)

    async with Broker(config, world, apis=APIS) as broker:
        assert len(broker.metadata.image.topics) == 150


async def test_snapshot_of_few_records_is_written_once_after_the_interval(
    world, autojump_clock
) -> None:
    config = config_of({"metadata.log.max.snapshot.interval.ms": "60000"})

    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker)
        await trio.sleep(50)
        assert snapshots(world) == []
        await trio.sleep(20)
        assert len(snapshots(world)) == 1
        await trio.sleep(600)
        assert len(snapshots(world)) == 1


async def test_failed_write_of_a_snapshot_ends_the_broker(world, autojump_clock) -> None:
    config = config_of({"metadata.log.max.snapshot.interval.ms": "1000"})

    with pytest.raises(LogDirError, match="/data"):
        async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
            await fill(broker)
            world.universe.fault = fault_on("create", BROKEN, ".checkpoint.part")
            await trio.sleep_forever()

    assert not world.directory("/data").exists(".kafka_cleanshutdown")
