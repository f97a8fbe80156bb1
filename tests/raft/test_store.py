"""The directory of the metadata log: what is kept, and what a damaged snapshot costs."""

import pytest
import trio

from tests.log.kit import content_of
from tests.log.kit import fill as put
from tests.raft.kit import (
    CONFIG,
    NODE_1,
    ROOT,
    STATIC,
    append,
    format_root,
    put_sample,
    running_quorum,
)
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.config import LogConfig
from trio_kafka.metadata.dump import records_of
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.topics import TopicRecord
from trio_kafka.raft import quorum_state
from trio_kafka.raft.retention import Retention
from trio_kafka.raft.snapshot import SnapshotId, snapshots_in
from trio_kafka.raft.store import open_store
from trio_kafka.raft.values import Election
from trio_kafka.testing.simulation import run_simulated, run_until_crash
from trio_kafka.world.protocols import Directory
from trio_kafka.world.simulated import SimulatedWorld, Universe
from trio_kafka.world.world import World

METADATA = "__cluster_metadata-0"
SMALL = LogConfig(segment_bytes=2_000)
LITTLE = Retention(max_bytes=20_000, max_ms=-1)


async def fill(driver, loader, first: int, count: int = 60) -> None:
    if not loader.image.features:
        append(
            driver,
            [FeatureLevelRecord(name="metadata.version", feature_level=33)],
            driver.epoch,
            33,
        )
    for number in range(first, first + count):
        record = TopicRecord(name=f"t{number}", topic_id=(number + 1).to_bytes(16))
        end = append(driver, [record], driver.epoch, 33)
    await loader.wait_published(end)


async def snapshot(driver, loader) -> None:
    image = loader.image
    at = SnapshotId(image.offset, image.epoch)
    now_ms = int(driver.store.world.clock.wall() * 1000)
    await driver.write_snapshot(at, records_of(image), level=33, timestamp_ms=now_ms)
    await driver.store.remove_expired()


async def test_damaged_newest_snapshot_loses_no_record(world, autojump_clock) -> None:
    await format_root(world)
    async with running_quorum(world, config=SMALL) as (driver, loader):
        for first in (0, 100, 200):
            await fill(driver, loader, first)
            await snapshot(driver, loader)
        newest = driver.store.snapshot
    assert newest is not None
    file = world.directory(ROOT).directory("__cluster_metadata-0").open(newest.name)
    file.truncate(100)
    file.close()

    async with running_quorum(world, config=SMALL) as (driver, loader):
        assert len(loader.image.topics) == 180


async def test_log_without_its_beginning_is_refused_if_all_snapshots_are_damaged(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_quorum(world, config=SMALL, retention=LITTLE) as (driver, loader):
        for first in (0, 100, 200):
            await fill(driver, loader, first)
            await snapshot(driver, loader)
    directory = world.directory(ROOT).directory("__cluster_metadata-0")
    for at in await snapshots_in(directory):
        file = directory.open(at.name)
        file.truncate(100)
        file.close()

    with pytest.raises(LogDirError, match="no whole snapshot"):
        await open_store(world, world.directory(ROOT), SMALL, static=STATIC)


async def test_log_that_ends_before_its_snapshot_restarts_at_the_snapshot(
    world, autojump_clock
) -> None:
    await put_sample(world, "dynamic_quorum")

    store = await open_store(world, world.directory(ROOT), CONFIG)

    assert store.log.start_offset == store.log.end_offset == 229
    assert store.history.end == 229
    assert store.history.last_epoch == 1
    assert store.voters is not None
    assert store.voters.ids[:2] == (1, 2)


async def lead(world: World, first: int) -> int:
    """One life that writes ten topics and is killed; the epoch that it led."""
    async with running_quorum(world) as (driver, loader):
        await fill(driver, loader, first, 10)
        epoch = driver.epoch
    driver.abandon()
    return epoch


def metadata_directory(world: World) -> Directory:
    return world.directory(ROOT).directory("__cluster_metadata-0")


@pytest.mark.parametrize("saved", [None, Election(), Election(1, NODE_1), Election(2, NODE_1)])
async def test_election_below_the_epoch_of_the_log_is_raised_to_that_epoch(
    world, autojump_clock, caplog, saved: Election | None
) -> None:
    await format_root(world)
    assert [await lead(world, first) for first in (0, 10, 20)] == [1, 2, 3]
    directory = metadata_directory(world)
    if saved is None:
        await directory.unlink(quorum_state.NAME)
    else:
        await quorum_state.save_election(directory, saved, STATIC)

    epochs = [await lead(world, first) for first in (30, 40)]

    async with running_quorum(world) as (driver, loader):
        assert epochs == [4, 5]
        assert driver.epoch == 6
        assert len(loader.image.topics) == 50
    assert [record.message for record in caplog.records] == [
        "raised the epoch of quorum-state to that of the log"
    ]


async def test_election_below_the_epoch_of_the_newest_snapshot_is_raised_to_that_epoch(
    world, autojump_clock
) -> None:
    await put_sample(world, "dynamic_quorum", without="quorum-state")

    store = await open_store(world, world.directory(ROOT), CONFIG)

    assert store.log.end_offset == store.log.start_offset == 229
    assert store.election == Election(1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_power_loss_during_the_write_of_snapshots_loses_no_record(seed: int) -> None:
    async def main(universe: Universe) -> None:
        published = 0
        world = universe.machine("broker")
        await format_root(world)

        async def life(world: SimulatedWorld) -> None:
            nonlocal published
            async with running_quorum(world, config=SMALL, retention=LITTLE) as (driver, loader):
                assert len(loader.image.topics) >= published
                base = 10_000 * (world.life + 1)
                for first in range(base, base + 1000, 40):
                    await fill(driver, loader, first, 40)
                    published = len(loader.image.topics)
                    await snapshot(driver, loader)
                await trio.lowlevel.checkpoint()

        for _ in range(4):
            await run_until_crash(world, life, universe.chance("crash").uniform(0.05, 1.5))
            world = universe.machine("broker")
        async with running_quorum(world, config=SMALL) as (_, loader):
            assert len(loader.image.topics) >= published

    run_simulated(main, seed, moody=True)


def segments(world) -> list[str]:
    names = world.directory(ROOT).directory(METADATA).names()
    return [name for name in names if name.endswith(".log")]


async def change(world, name: str, at: int, bits: int) -> None:
    """Flip bits of one byte."""
    directory = world.directory(ROOT).directory(METADATA)
    content = bytearray(await content_of(directory, name))
    content[at] ^= bits
    await directory.unlink(name)
    await put(directory, {name: bytes(content)})


# The magic, the CRC, and what no CRC covers: the base offset and the leader epoch.
@pytest.mark.parametrize("at", [16, 17, 0, 7, 12])
@pytest.mark.parametrize("number", [0, -1])
async def test_damaged_batch_before_undamaged_batches_is_refused_without_truncation(
    world, autojump_clock, at: int, number: int
) -> None:
    await format_root(world)
    async with running_quorum(world, config=SMALL) as (driver, loader):
        await fill(driver, loader, 0)
    name = segments(world)[number]
    await change(world, name, at, 1)
    directory = world.directory(ROOT).directory(METADATA)
    before = {segment: await content_of(directory, segment) for segment in segments(world)}

    with pytest.raises(LogDirError, match=rf"{name} is damaged.*at position \d+.*truncate -s"):
        async with running_quorum(world, config=SMALL):
            pass

    assert {segment: await content_of(directory, segment) for segment in segments(world)} == before


async def test_torn_last_batch_of_metadata_is_truncated(world, autojump_clock) -> None:
    await format_root(world)
    async with running_quorum(world, config=SMALL) as (driver, loader):
        await fill(driver, loader, 0)
        topics, end = len(loader.image.topics), driver.store.log.end_offset
    directory = world.directory(ROOT).directory(METADATA)
    file = directory.open(segments(world)[-1])
    file.truncate(file.size - 3)
    file.close()

    async with running_quorum(world, config=SMALL) as (driver, loader):
        assert len(loader.image.topics) == topics - 1
        assert driver.store.log.end_offset <= end


async def test_a_metadata_batch_of_more_than_8_mib_is_refused_and_nothing_is_written(
    world, autojump_clock
) -> None:
    await format_root(world)
    config = LogConfig(segment_bytes=64 << 20)
    async with running_quorum(world, config=config) as (driver, _):
        before = driver.store.log.end_offset, driver.store.log.size
        large = [
            TopicRecord(name=f"t{number:0200}", topic_id=bytes(16)) for number in range(40_000)
        ]

        with pytest.raises(KafkaError) as caught:
            append(driver, large, driver.epoch, 33)

        assert caught.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
        assert (driver.store.log.end_offset, driver.store.log.size) == before
        end = append(driver, large[:1], driver.epoch, 33)
        await driver.wait_committed(end)
