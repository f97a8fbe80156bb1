"""AlterReplicaLogDirs: replicas move, stay, or are refused."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import batch, broker, fetch, produce, stable, values_of, write
from tests.apis.test_k35_describe_log_dirs import TWO, describe, replicas
from trio_kafka.errors import ErrorCode, LogDirError
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.protocol.messages.k34_alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.replication.moves.moves import LogMoves
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world


async def alter(
    served: ServedBroker, *moves: tuple[str, int, str], version: int = 2
) -> dict[tuple[str, int], int]:
    dirs = [
        AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(topic, [number])])
        for topic, number, path in moves
    ]
    answer = await served.ask(AlterReplicaLogDirsRequest(dirs), version)
    return {
        (topic.topic_name, row.partition_index): row.error_code
        for topic in answer.results
        for row in topic.partitions
    }


async def place_of(served: ServedBroker, topic: str, number: int = 0) -> str:
    """The directory of a replica that does not move."""
    paths = [
        path for path, row in (await describe(served)).items() if (topic, number) in replicas(row)
    ]
    (path,) = paths
    return path


async def moved_to(served: ServedBroker, path: str, topic: str = "t", number: int = 0) -> None:
    """Wait until a replica is in a directory and nowhere else."""
    with trio.fail_after(60):
        while True:
            result = {
                at
                for at, row in (await describe(served)).items()
                if (topic, number) in replicas(row)
            }
            if result == {path}:
                return
            await trio.sleep(0.01)


def other(path: str) -> str:
    return {"/one": "/two", "/two": "/one"}[path]


@pytest.mark.parametrize("version", stable(AlterReplicaLogDirsRequest))
async def test_a_replica_moves_with_its_records_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker(TWO) as served:
        await served.create_topic("t")
        await write(served, "t", b"a", b"b")
        there = other(await place_of(served, "t"))

        assert await alter(served, ("t", 0, there), version=version) == {("t", 0): 0}
        await moved_to(served, there)

        await write(served, "t", b"c")
        assert values_of(await fetch(served, "t")) == [b"a", b"b", b"c"]


async def test_a_moved_replica_stays_in_its_new_directory_after_a_restart(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_broker(world, TWO) as served:
        await served.create_topic("t")
        await write(served, "t", b"a")
        there = other(await place_of(served, "t"))
        await alter(served, ("t", 0, there))
        await moved_to(served, there)

    async with served_broker(world, TWO) as served:
        assert await place_of(served, "t") == there
        assert values_of(await fetch(served, "t")) == [b"a"]


async def test_an_unfinished_move_continues_after_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world, TWO) as served:
        await served.create_topic("t")
        await write(served, "t", b"a")
        there = other(await place_of(served, "t"))
        served.broker[LogMoves].pace.set_rate(0)
        await alter(served, ("t", 0, there))
        await trio.sleep(1)
        assert replicas((await describe(served))[there])["t", 0][2]  # a future replica

    async with served_broker(world, TWO) as served:
        await moved_to(served, there)
        assert values_of(await fetch(served, "t")) == [b"a"]


async def test_a_move_to_the_current_directory_cancels_the_running_move(
    autojump_clock: MockClock,
) -> None:
    async with broker(TWO) as served:
        await served.create_topic("t")
        await write(served, "t", b"a")
        here = await place_of(served, "t")
        served.broker[LogMoves].pace.set_rate(0)
        await alter(served, ("t", 0, other(here)))
        await trio.sleep(1)

        assert await alter(served, ("t", 0, here)) == {("t", 0): 0}

        assert await place_of(served, "t") == here
        assert len(served.broker[LogMoves]) == 0


async def test_each_replica_is_refused_with_its_own_error(autojump_clock: MockClock) -> None:
    async with broker(TWO) as served:
        await served.create_topic("t")
        long = "x" * 220
        await served.create_topic(long)

        assert await alter(
            served,
            ("t", 0, "/three"),
            ("t", 1, "/two"),
            ("missing", 0, "/two"),
            (long, 0, "/two"),
        ) == {
            ("t", 0): ErrorCode.LOG_DIR_NOT_FOUND,
            ("t", 1): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ("missing", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            (long, 0): ErrorCode.INVALID_TOPIC_EXCEPTION,
        }


async def test_replicas_are_not_moved_while_a_directory_is_offline(
    autojump_clock: MockClock,
) -> None:
    async with broker({"log.dirs": "/one,/two,/three"}) as served:
        await served.create_topic("t", 3)
        by_path = {path: dict(replicas(row)) for path, row in (await describe(served)).items()}
        ((_, number),) = by_path["/one"]
        ((_, lost),) = by_path["/three"]
        served.broker.logs.directories[2].fail(LogDirError("/three", "broken"))

        assert await alter(
            served, ("t", number, "/two"), ("t", lost, "/one"), ("missing", 0, "/three")
        ) == {
            ("t", number): ErrorCode.KAFKA_STORAGE_ERROR,
            ("t", lost): ErrorCode.KAFKA_STORAGE_ERROR,
            ("missing", 0): ErrorCode.KAFKA_STORAGE_ERROR,
        }


async def test_a_replica_assigned_before_its_creation_is_created_in_that_directory(
    autojump_clock: MockClock,
) -> None:
    async with broker(TWO) as served:
        for name in ("a", "b", "c"):
            await alter(served, (name, 0, "/two"))
            await served.create_topic(name)

        assert list(replicas((await describe(served))["/two"])) == [("a", 0), ("b", 0), ("c", 0)]


async def test_producer_state_survives_a_move(autojump_clock: MockClock) -> None:
    async with broker(TWO) as served:
        await served.create_topic("t")
        first = batch(b"a", producer_id=7, producer_epoch=0, base_sequence=0)
        assert (await produce(served, "t", memoryview(bytearray(first)))).base_offset == 0
        there = other(await place_of(served, "t"))
        await alter(served, ("t", 0, there))
        await moved_to(served, there)

        again = await produce(served, "t", first)

        assert (again.error_code, again.base_offset) == (0, 0)
        assert values_of(await fetch(served, "t")) == [b"a"]


async def test_a_move_to_a_cordoned_directory_is_refused(autojump_clock: MockClock) -> None:
    async with broker(TWO | {"cordoned.log.dirs": "/two"}) as served:
        await served.create_topic("t")

        assert await alter(served, ("t", 0, "/two")) == {
            ("t", 0): ErrorCode.INVALID_REPLICA_ASSIGNMENT
        }


async def test_a_change_of_the_move_rate_setting_applies_at_once(
    autojump_clock: MockClock,
) -> None:
    async with broker(TWO) as served:
        await served.create_topic("t")
        for _ in range(10):
            await write(served, "t", b"x" * 1000)
        await set_rate(served, 0)
        there = other(await place_of(served, "t"))
        await alter(served, ("t", 0, there))
        await trio.sleep(60)
        assert replicas((await describe(served))[there])["t", 0][2]

        await set_rate(served, 1 << 20)
        await moved_to(served, there)


async def set_rate(served: ServedBroker, rate: int) -> None:
    """Set the rate of moves for all brokers."""
    config = AlterableConfig("replica.alter.log.dirs.io.max.bytes.per.second", 0, str(rate))
    resource = AlterConfigsResource(ConfigResourceType.BROKER, "", [config])
    answer = await served.ask(IncrementalAlterConfigsRequest([resource]))
    assert answer.responses[0].error_code == 0
