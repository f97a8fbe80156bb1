"""What the parts of a started broker are given, and what a lost directory ends."""

import errno

import pytest
import trio

from tests.broker.kit import APIS, config_of, content_of, fill, live_once
from trio_kafka.broker import Broker, StartError
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulation import fault_on

BROKEN = OSError(errno.EIO, "Input/output error")
THREE = config_of({"log.dirs": "/a,/b,/c"})


def state_of(broker, number: int) -> ErrorCode:
    """What a use of that partition of the topic t is answered with."""
    try:
        broker.replicas.partition("t", number).local_log()
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def directories_of(broker) -> dict[str, list[int]]:
    """The partitions of the topic t, by directory."""
    return {
        directory.path: sorted(at.partition for at in directory.logs)
        for directory in broker.logs.directories
    }


async def test_a_directory_that_is_offline_at_start_costs_its_partitions_only(
    world, autojump_clock
) -> None:
    world = await live_once(world, THREE, clean=True)
    async with Broker(THREE, world, apis=APIS) as broker:
        (lost,) = directories_of(broker)["/b"]
    world.universe.fault = fault_on("lock", BROKEN, "/b")

    async with Broker(THREE, world, apis=APIS) as broker:
        states = [state_of(broker, number) for number in range(3)]
        assert len(broker.metadata.image.brokers[1].log_dirs) == 2

    assert states.pop(lost) is ErrorCode.KAFKA_STORAGE_ERROR
    assert states == [ErrorCode.NONE] * 2


async def test_a_directory_that_fails_while_the_broker_runs_costs_its_partitions_only(
    world, autojump_clock
) -> None:
    async with Broker(THREE, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker)
        (lost,) = directories_of(broker)["/b"]
        world.universe.fault = fault_on("sync", BROKEN, "/b/t-")
        broker.replicas.partition("t", lost).local_log().wants_sync(
            broker.replicas.partition("t", lost).local_log()
        )
        await trio.sleep(1)

        states = [state_of(broker, number) for number in range(3)]
        assert states.pop(lost) is ErrorCode.KAFKA_STORAGE_ERROR
        assert states == [ErrorCode.NONE] * 2
        await fill(broker, "more")

    world.universe.fault = fault_on("nothing", None)
    marked = [world.directory(path).exists(".kafka_cleanshutdown") for path in ("/a", "/b", "/c")]
    assert marked == [True, False, True]


async def test_the_broker_ends_with_the_directory_of_its_metadata(world, autojump_clock) -> None:
    with pytest.raises(LogDirError, match="/a"):
        async with Broker(THREE, world, format_if_empty=True, apis=APIS) as broker:
            broker.logs.directories[0].fail(LogDirError("/a", "torn out"))
            await trio.sleep_forever()


async def test_the_broker_ends_with_its_last_data_directory(world, autojump_clock) -> None:
    config = config_of({"log.dirs": "/a,/b", "metadata.log.dir": "/m"})

    with pytest.raises(LogDirError, match="/b"):
        async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
            broker.logs.directories[0].fail(LogDirError("/a", "torn out"))
            await trio.sleep(1)
            assert broker.tasks.failure is None
            broker.logs.directories[1].fail(LogDirError("/b", "torn out too"))
            await trio.sleep_forever()


async def test_of_one_topics_partition_in_two_directories_the_named_one_is_served(
    world, autojump_clock
) -> None:
    config = config_of({"log.dirs": "/a,/b"})
    world = await live_once(world, config, clean=True)
    where = next(path for path in ("/a", "/b") if world.directory(path).exists("t-0"))
    known = content_of(world, f"{where}/t-0", "partition.metadata")
    for path in {"/a", "/b"} - {where}:
        copy = world.directory(path).directory("t-0", create=True)
        copy.create("partition.metadata").append([known])

    async with Broker(config, world, apis=APIS) as broker:
        (stray,) = broker.logs.strays
        found = broker.logs.directory_of(TopicPartition("t", 0))

    assert found is not None
    assert found.path == where
    assert not stray.startswith(f"{where}/")


async def test_a_metadata_log_that_is_damaged_is_told(world, autojump_clock) -> None:
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


async def test_a_host_that_is_not_given_is_this_machines_name(world, autojump_clock) -> None:
    config = config_of({"listeners": "PLAINTEXT://:0"})

    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        (told,) = broker.metadata.image.brokers[1].endpoints
        assert told.host == await world.network.host_name()
        assert told.port == broker.endpoint.port
        assert broker.bootstrap == f"{told.host}:{told.port}"


async def test_nothing_is_accepted_before_the_broker_is_unfenced(world, autojump_clock) -> None:
    async with Broker(THREE, world, format_if_empty=True, apis=APIS) as broker:
        trace = [line.split(" ", 3)[2:] for line in world.universe.trace]
        assert not broker.metadata.image.brokers[1].fenced

    assert not any(rest[-1].startswith("accept") for rest in trace)
