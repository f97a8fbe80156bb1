"""When snapshots are written."""

import pytest
import trio

from tests.raft.kit import append, format_root, running_quorum
from trio_kafka.introspect.tree import Node
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.topics import TopicRecord
from trio_kafka.raft.generator import SnapshotGenerator, SnapshotSettings
from trio_kafka.testing.simulation import simulated_world


async def make_topics(driver, loader, count: int) -> None:
    """A batch for each, and one before them."""
    append(driver, [FeatureLevelRecord("metadata.version", 33)], driver.epoch, 33)
    for number in range(count):
        record = TopicRecord(name=f"t{number}", topic_id=(number + 1).to_bytes(16))
        end = append(driver, [record], driver.epoch, 33)
    await loader.wait_published(end)


async def run(world, settings: SnapshotSettings, count: int, seconds: float) -> list[int]:
    """The offset of the newest snapshot after each second, with `count` topics at the beginning."""
    await format_root(world)
    result = []
    async with running_quorum(world) as (driver, loader), trio.open_nursery() as nursery:
        generator = SnapshotGenerator(driver, settings, Node("broker", "broker"))
        loader.add(generator)
        await nursery.start(generator.run)
        await make_topics(driver, loader, count)
        for _ in range(int(seconds)):
            await trio.sleep(1)
            assert driver.store.snapshot is not None
            result.append(driver.store.snapshot.offset)
        nursery.cancel_scope.cancel()
    return result


async def test_snapshot_is_written_after_enough_bytes_of_the_log(world, autojump_clock) -> None:
    few = SnapshotSettings(max_record_bytes_between_snapshots=2000, max_snapshot_interval_ms=0)

    assert await run(world, few, 50, 3) == [52, 52, 52]


async def test_snapshot_of_few_records_is_written_once_after_the_interval(
    world, autojump_clock
) -> None:
    settings = SnapshotSettings(max_snapshot_interval_ms=4500)

    assert await run(world, settings, 3, 20) == [0] * 4 + [5] * 16


async def size_of(world, count: int) -> int:
    """Bytes of the log that `run` makes with so many topics."""
    await format_root(world)
    async with running_quorum(world) as (driver, loader):
        await make_topics(driver, loader, count)
        return driver.store.size_since_snapshot


@pytest.mark.parametrize(("more", "newest"), [(-1, 7), (0, 7), (1, 0)])
async def test_snapshot_is_due_exactly_at_its_limit_of_bytes(autojump_clock, more, newest) -> None:
    size = await size_of(simulated_world(), 5)
    settings = SnapshotSettings(
        max_record_bytes_between_snapshots=size + more, max_snapshot_interval_ms=0
    )

    assert await run(simulated_world(), settings, 5, 1) == [newest]
