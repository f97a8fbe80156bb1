"""Parts of a broker when a directory is offline at the start or is lost later."""

import errno

import pytest
import trio

from tests.broker.kit import APIS, config_of, fill, live_once
from trio_kafka.broker import Broker
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.testing.simulation import fault_on

BROKEN = OSError(errno.EIO, "Input/output error")
THREE = config_of({"log.dirs": "/a,/b,/c"})


def state_of(broker, number: int) -> ErrorCode:
    """The error of a use of that partition of the topic t."""
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


async def test_directory_that_is_offline_at_the_start_takes_only_its_partitions_offline(
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


async def test_directory_that_fails_at_run_time_takes_only_its_partitions_offline(
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


async def test_failure_of_the_metadata_directory_ends_the_broker(world, autojump_clock) -> None:
    with pytest.raises(LogDirError, match="/a"):
        async with Broker(THREE, world, format_if_empty=True, apis=APIS) as broker:
            broker.logs.directories[0].fail(LogDirError("/a", "torn out"))
            await trio.sleep_forever()


async def test_failure_of_the_last_data_directory_ends_the_broker(world, autojump_clock) -> None:
    config = config_of({"log.dirs": "/a,/b", "metadata.log.dir": "/m"})

    with pytest.raises(LogDirError, match="/b"):
        async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
            broker.logs.directories[0].fail(LogDirError("/a", "torn out"))
            await trio.sleep(1)
            assert broker.tasks.failure is None
            broker.logs.directories[1].fail(LogDirError("/b", "torn out too"))
            await trio.sleep_forever()
