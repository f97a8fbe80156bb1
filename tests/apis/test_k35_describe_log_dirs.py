"""DescribeLogDirs: directories, their space, and the replicas in them."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import batch, broker, produce, stable
from trio_kafka.errors import ErrorCode, LogDirError
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.protocol.messages.k35_describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

TWO = {"log.dirs": "/one,/two"}


async def describe(
    served: ServedBroker, *partitions: tuple[str, int], version: int = 5
) -> dict[str, DescribeLogDirsResult]:
    topics = [DescribableLogDirTopic(topic, [number]) for topic, number in partitions]
    answer: DescribeLogDirsResponse = await served.ask(
        DescribeLogDirsRequest(topics or None), version
    )
    assert getattr(answer, "error_code", 0) == 0
    return {row.log_dir: row for row in answer.results}


def replicas(*rows: DescribeLogDirsResult) -> dict[tuple[str, int], tuple[int, int, bool]]:
    """Size, lag and whether it is a future replica, by topic and partition."""
    return {
        (topic.name, partition.partition_index): (
            partition.partition_size,
            partition.offset_lag,
            partition.is_future_key,
        )
        for row in rows
        for topic in row.topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", stable(DescribeLogDirsRequest))
async def test_every_directory_is_described_with_its_replicas_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker(TWO) as served:
        await served.create_topic("t", 2)
        records = batch(b"a", b"b")
        size = len(records)
        await produce(served, "t", records, partition=1)

        result = await describe(served, version=version)

        assert list(result) == ["/one", "/two"]
        assert all(row.error_code == 0 for row in result.values())
        assert replicas(*result.values()) == {("t", 0): (0, 0, False), ("t", 1): (size, 0, False)}
        assert [len(replicas(row)) for row in result.values()] == [1, 1]
        if version >= 4:
            assert result["/one"].total_bytes >= result["/one"].usable_bytes > 0
        else:
            assert result["/one"].total_bytes == -1


async def test_only_requested_partitions_are_listed(
    autojump_clock: MockClock,
) -> None:
    async with broker(TWO) as served:
        await served.create_topic("t", 2)
        await served.create_topic("u")

        result = await describe(served, ("t", 1), ("t", 9), ("missing", 0))

        assert list(replicas(*result.values())) == [("t", 1)]


async def test_the_space_of_a_directory_is_that_of_its_disk(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world, {"log.dirs": "/one"}) as served:
        world.capacity = 1 << 30

        (row,) = (await describe(served)).values()

        assert row.total_bytes == 1 << 30
        assert 0 < row.usable_bytes < 1 << 30


async def test_an_offline_directory_has_an_error_and_no_replicas(
    autojump_clock: MockClock,
) -> None:
    async with broker(TWO) as served:
        await served.create_topic("t", 2)
        served.broker.logs.directories[1].fail(LogDirError("/two", "broken"))

        result = await describe(served)

        assert result["/one"].error_code == 0
        assert result["/two"].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert result["/two"].topics == []


async def test_the_space_of_a_hanging_disk_is_unknown(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_broker(world, {"log.dirs": "/one"}) as served:
        world.universe.fault = lambda machine, call, target: 60.0 if call == "space" else None

        (row,) = (await describe(served)).values()

        assert (row.error_code, row.total_bytes, row.usable_bytes) == (0, -1, -1)


async def test_a_disk_with_a_failing_space_query_is_a_storage_error(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_broker(world, {"log.dirs": "/one"}) as served:
        world.universe.fault = lambda machine, call, target: (
            OSError(5, "EIO") if call == "space" else None
        )

        (row,) = (await describe(served)).values()

        assert row.error_code == ErrorCode.KAFKA_STORAGE_ERROR


async def cordon(served: ServedBroker, paths: str) -> int:
    """Set cordoned.log.dirs of the broker; the error."""
    config = AlterableConfig("cordoned.log.dirs", 0, paths)
    resource = AlterConfigsResource(ConfigResourceType.BROKER, "1", [config])
    answer = await served.ask(IncrementalAlterConfigsRequest([resource]))
    (row,) = answer.responses
    return int(row.error_code)


async def test_cordoned_directories_are_marked_and_get_no_new_replicas(
    autojump_clock: MockClock,
) -> None:
    async with broker(TWO | {"cordoned.log.dirs": "/one"}) as served:
        for name in "abc":
            await served.create_topic(name)

        result = await describe(served)

        assert {path: row.is_cordoned for path, row in result.items()} == {
            "/one": True,
            "/two": False,
        }
        assert len(replicas(result["/two"])) == 3
        me = served.broker.metadata.image.brokers[1]
        assert len(me.open_log_dirs) == 1


async def test_directories_are_cordoned_and_uncordoned_while_the_broker_runs(
    autojump_clock: MockClock,
) -> None:
    async with broker(TWO) as served:
        assert await cordon(served, "/two") == 0
        await trio.sleep(1)
        for name in "ab":
            await served.create_topic(name)
        result = await describe(served)
        assert result["/two"].is_cordoned
        assert len(replicas(result["/one"])) == 2
        assert len(served.broker.metadata.image.brokers[1].open_log_dirs) == 1

        assert await cordon(served, "") == 0
        await trio.sleep(1)
        for name in "cd":
            await served.create_topic(name)
        assert len(replicas((await describe(served))["/two"])) == 2


async def test_a_broker_with_all_directories_cordoned_gets_no_new_replicas(
    autojump_clock: MockClock,
) -> None:
    async with broker(TWO) as served:
        assert await cordon(served, "*") == 0
        await trio.sleep(1)

        with pytest.raises(AssertionError, match=f"error {ErrorCode.INVALID_REPLICATION_FACTOR}"):
            await served.create_topic("t")


async def test_only_directories_of_the_broker_can_be_cordoned(autojump_clock: MockClock) -> None:
    async with broker(TWO) as served:
        for paths in ("/three", "*,/one"):
            assert await cordon(served, paths) == ErrorCode.INVALID_REQUEST
