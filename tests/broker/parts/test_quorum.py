"""The metadata log as the broker's settings have it."""

import errno

import pytest
import trio

from tests.broker.kit import APIS, config_of, fill
from trio_kafka.broker import Broker, StartError
from trio_kafka.broker.parts.quorum import on_disk
from trio_kafka.controller.topics import NewTopic
from trio_kafka.errors import InvariantError, LogDirError
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.metadata.features import LATEST_LEVEL, SUPPORTED
from trio_kafka.model import NodeId
from trio_kafka.raft.snapshot import BOOTSTRAP, write_snapshot
from trio_kafka.raft.voters import Voter, VoterSet
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
async def test_enough_bytes_of_metadata_are_put_into_a_snapshot_that_the_next_start_reads(
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


async def test_few_records_are_put_into_a_snapshot_after_the_interval(
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


async def test_a_snapshot_that_cannot_be_written_ends_the_broker(world, autojump_clock) -> None:
    config = config_of({"metadata.log.max.snapshot.interval.ms": "1000"})

    with pytest.raises(LogDirError, match="/data"):
        async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
            await fill(broker)
            world.universe.fault = fault_on("create", BROKEN, ".checkpoint.part")
            await trio.sleep_forever()

    assert not world.directory("/data").exists(".kafka_cleanshutdown")


async def test_no_voters_but_this_node_are_supported(world, autojump_clock) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        one = broker.raft.store.voters.voters[0]
    directory = world.directory(METADATA)
    await directory.unlink(BOOTSTRAP.name)
    await write_snapshot(
        directory,
        BOOTSTRAP,
        [],
        level=LATEST_LEVEL,
        voters=VoterSet(1, (one, Voter(NodeId(2)))),
        timestamp_ms=0,
        now_ms=0,
    )

    with pytest.raises(
        StartError, match=r"^/data: found the voters \[1, 2\], this node is 1: only a "
    ):
        async with Broker(config_of(), world, apis=APIS):
            pytest.fail("it started")
    assert world.locks == {}


@pytest.mark.parametrize("error", [BROKEN, LogDirError("/d", "Input/output error")])
async def test_an_error_of_the_disk_takes_the_directory_offline(world, error) -> None:
    directory = LogDirectory(world, world.directory("/d", create=True), lambda: None)

    async def run(*, task_status) -> None:
        await trio.lowlevel.checkpoint()
        raise error

    with pytest.raises(LogDirError, match=r"/d.*Input/output error"):
        await on_disk(directory, run)(task_status=trio.TASK_STATUS_IGNORED)

    assert isinstance(directory.offline, LogDirError)


async def test_what_is_no_error_of_the_disk_goes_through(world) -> None:
    directory = LogDirectory(world, world.directory("/d", create=True), lambda: None)

    async def run(*, task_status) -> None:
        await trio.lowlevel.checkpoint()
        raise InvariantError("never")

    with pytest.raises(InvariantError):
        await on_disk(directory, run)(task_status=trio.TASK_STATUS_IGNORED)

    assert directory.offline is None


async def test_the_controller_tells_what_it_supports(world, autojump_clock) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        (me,) = broker.metadata.image.controllers.values()

    assert (me.id, me.features) == (NodeId(1), SUPPORTED)
