"""The metadata log as the broker's settings have it."""

import errno
from functools import partial

import pytest
import trio

from tests.broker.kit import APIS, config_of, live_once
from trio_kafka.broker import Broker, StartError
from trio_kafka.broker.parts.quorum import disk_failure
from trio_kafka.broker.tasks import Tasks
from trio_kafka.errors import InvariantError, LogDirError
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.metadata.features import LATEST_LEVEL
from trio_kafka.model import NodeId
from trio_kafka.raft.snapshot import BOOTSTRAP, write_snapshot
from trio_kafka.raft.voters import Voter, VoterSet

THREE = config_of({"log.dirs": "/a,/b,/c"})
METADATA = "/data/__cluster_metadata-0"
BROKEN = OSError(errno.EIO, "Input/output error")


async def test_start_with_voters_other_than_this_node_is_refused(world, autojump_clock) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        voter = broker.raft.store.voters.voters[0]
    directory = world.directory(METADATA)
    await directory.unlink(BOOTSTRAP.name)
    await write_snapshot(
        directory,
        BOOTSTRAP,
        [],
        level=LATEST_LEVEL,
        voters=VoterSet(1, (voter, Voter(NodeId(2)))),
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
async def test_disk_error_of_a_task_takes_its_directory_offline(world, error) -> None:
    directory = LogDirectory(world, world.directory("/d", create=True), lambda: None)

    async def run(*, task_status) -> None:
        await trio.lowlevel.checkpoint()
        raise error

    async with trio.open_nursery() as nursery:
        with pytest.raises(LogDirError, match=r"/d.*Input/output error"):
            await Tasks(nursery).start("t", run, cause=partial(disk_failure, directory))

    assert isinstance(directory.offline, LogDirError)


async def test_error_that_is_not_a_disk_error_propagates_and_keeps_the_directory_online(
    world,
) -> None:
    directory = LogDirectory(world, world.directory("/d", create=True), lambda: None)

    async def run(*, task_status) -> None:
        await trio.lowlevel.checkpoint()
        raise InvariantError("never")

    async with trio.open_nursery() as nursery:
        with pytest.raises(InvariantError):
            await Tasks(nursery).start("t", run, cause=partial(disk_failure, directory))

    assert directory.offline is None


async def test_start_without_the_metadata_log_is_refused_with_advice(world, autojump_clock) -> None:
    world = await live_once(world, THREE, clean=True)
    metadata = world.directory("/a/__cluster_metadata-0")
    for name in metadata.names():
        await metadata.unlink(name)
    await world.directory("/a").unlink("__cluster_metadata-0")

    with pytest.raises(
        StartError, match=r"^log directory /a: it has no __cluster_metadata-0: format the directory"
    ):
        async with Broker(THREE, world, apis=APIS):
            pytest.fail("it started")
