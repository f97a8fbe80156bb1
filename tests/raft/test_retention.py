"""Old snapshots of the metadata log go, by size and by time, and the log below them with each."""

import errno
import os

import pytest
import trio

from tests.raft.kit import ROOT, append, format_root, running_quorum
from trio_kafka.introspect.tree import Node
from trio_kafka.log.config import LogConfig
from trio_kafka.metadata.dump import records_of
from trio_kafka.metadata.publisher import Loader
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.topics import TopicRecord
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.raft.generator import SnapshotGenerator, SnapshotSettings
from trio_kafka.raft.retention import Retention
from trio_kafka.raft.snapshot import BOOTSTRAP, SnapshotId, read_timestamp, snapshots_in
from trio_kafka.testing.simulation import run_simulated, run_until_crash
from trio_kafka.world.clock import EPOCH
from trio_kafka.world.simulated import SimulatedWorld, Universe
from trio_kafka.world.world import World

CONFIG = LogConfig(segment_bytes=2_000)
ALL = Retention(max_bytes=-1, max_ms=-1)
NOW_MS = int(EPOCH * 1000)
DAY_MS = 86_400_000


async def topics(driver: RaftDriver, loader: Loader, first: int, count: int = 40) -> None:
    if not loader.image.features:
        level = FeatureLevelRecord(name="metadata.version", feature_level=33)
        append(driver, [level], driver.epoch, 33)
    for number in range(first, first + count):
        record = TopicRecord(name=f"t{number}", topic_id=(number + 1).to_bytes(16))
        end = append(driver, [record], driver.epoch, 33)
    await loader.wait_published(end)


async def snapshots(driver: RaftDriver, loader: Loader, *timestamps_ms: int) -> list[SnapshotId]:
    """One for each time, with 40 topics more; those that there are now."""
    for timestamp_ms in timestamps_ms:
        await topics(driver, loader, len(loader.image.topics))
        image = loader.image
        at = SnapshotId(image.offset, image.epoch)
        await driver.write_snapshot(at, records_of(image), level=33, timestamp_ms=timestamp_ms)
    return await snapshots_in(driver.store.directory)


async def held(driver: RaftDriver) -> int:
    """Bytes of the log and its snapshots."""
    store = driver.store
    sizes = [await store.cleaner.size(at) for at in await snapshots_in(store.directory)]
    return store.log.size + sum(sizes)


async def test_no_snapshot_is_removed_without_limits_or_below_the_limits(
    world: World, autojump_clock: object
) -> None:
    await format_root(world)
    async with running_quorum(world, config=CONFIG, retention=ALL) as (driver, loader):
        snapshot_ids = await snapshots(driver, loader, 1, 2, 3)
        assert await driver.store.remove_expired() is None
        driver.store.cleaner.retention = Retention(max_bytes=await held(driver), max_ms=NOW_MS)
        await driver.store.remove_expired()

        assert snapshot_ids[0] == BOOTSTRAP
        assert await snapshots_in(driver.store.directory) == snapshot_ids
        assert driver.store.log.start_offset == 0


async def test_oldest_snapshots_are_removed_until_the_size_is_within_max_bytes(
    world: World, autojump_clock: object
) -> None:
    await format_root(world)
    async with running_quorum(world, config=CONFIG, retention=ALL) as (driver, loader):
        snapshot_ids = await snapshots(driver, loader, *range(1, 6))
        store, before = driver.store, await held(driver)

        store.cleaner.retention = Retention(max_bytes=before - 1, max_ms=-1)
        assert await store.remove_expired() is None
        assert await snapshots_in(store.directory) == snapshot_ids[1:]  # one is enough

        store.cleaner.retention = Retention(max_bytes=before // 2, max_ms=-1)
        await store.remove_expired()
        kept = await snapshots_in(store.directory)
        assert kept == snapshot_ids[-len(kept) :]
        assert await held(driver) <= before // 2 < before
        first, second = (segment.base_offset for segment in list(store.log.segments)[:2])
        assert first <= kept[0].offset < second  # all below it is gone, nothing above

    async with running_quorum(world, config=CONFIG, retention=ALL) as (driver, loader):
        assert len(loader.image.topics) == 200
        assert driver.store.log.start_offset == kept[0].offset


@pytest.mark.parametrize("keep", [Retention(max_bytes=0), Retention(max_bytes=-1, max_ms=0)])
async def test_newest_snapshot_is_never_removed(
    world: World, autojump_clock: object, keep: Retention
) -> None:
    await format_root(world)
    async with running_quorum(world, config=CONFIG, retention=keep) as (driver, loader):
        snapshot_ids = await snapshots(driver, loader, 1, 2, 3)
        assert await driver.store.remove_expired() is None
        assert await snapshots_in(driver.store.directory) == snapshot_ids[-1:]
        await topics(driver, loader, 1000)

    for _ in range(2):
        async with running_quorum(world, config=CONFIG, retention=keep) as (driver, loader):
            assert len(loader.image.topics) == 160
            assert driver.store.log.start_offset == snapshot_ids[-1].offset


async def test_snapshots_above_max_age_are_removed_and_the_next_removal_time_is_returned(
    world: World, autojump_clock: object
) -> None:
    await format_root(world)
    async with running_quorum(world, config=CONFIG, retention=ALL) as (driver, loader):
        store, now_ms = driver.store, NOW_MS
        times = [now_ms - 3 * DAY_MS, now_ms - DAY_MS - 1, now_ms - DAY_MS, now_ms]
        snapshot_ids = await snapshots(driver, loader, *times)
        assert [await read_timestamp(store.directory, at) for at in snapshot_ids] == [1000, *times]

        store.cleaner.retention = Retention(max_bytes=-1, max_ms=DAY_MS)
        assert await store.cleaner.clean(store.log, store.snapshot, now_ms) == now_ms + 1
        assert await snapshots_in(store.directory) == snapshot_ids[3:]
        assert await store.cleaner.clean(store.log, store.snapshot, now_ms) == now_ms + 1
        assert await store.cleaner.clean(store.log, store.snapshot, now_ms + 1) is None
        assert await snapshots_in(store.directory) == snapshot_ids[4:]
        assert store.log.segments.first.base_offset <= snapshot_ids[4].offset


async def test_young_snapshot_keeps_the_snapshots_after_it(
    world: World, autojump_clock: object
) -> None:
    await format_root(world)
    async with running_quorum(world, config=CONFIG, retention=ALL) as (driver, loader):
        store = driver.store
        snapshot_ids = await snapshots(driver, loader, NOW_MS, 1, 1)
        store.cleaner.retention = Retention(max_bytes=-1, max_ms=DAY_MS)
        await store.cleaner.clean(store.log, store.snapshot, NOW_MS)

        assert await snapshots_in(store.directory) == snapshot_ids[1:]


async def test_damaged_snapshot_counts_as_too_old(world: World, autojump_clock: object) -> None:
    await format_root(world)
    async with running_quorum(world, config=CONFIG, retention=ALL) as (driver, loader):
        now_ms = int(world.clock.wall() * 1000)
        snapshot_ids = await snapshots(driver, loader, now_ms, now_ms)
        directory = driver.store.directory
        for at in snapshot_ids[:2]:
            file = directory.open(at.name)
            file.truncate(20)
            file.close()
        assert await read_timestamp(directory, snapshot_ids[0]) == -1

        driver.store.cleaner.retention = Retention(max_bytes=-1, max_ms=DAY_MS)
        await driver.store.remove_expired()
        assert await snapshots_in(directory) == snapshot_ids[2:]


async def test_last_undamaged_snapshot_is_kept_if_the_newest_is_damaged(
    world: World, autojump_clock: object
) -> None:
    await format_root(world)
    async with running_quorum(world, config=CONFIG, retention=ALL) as (driver, loader):
        snapshot_ids = await snapshots(driver, loader, 1, 2)
    directory = world.directory(ROOT).directory("__cluster_metadata-0")
    file = directory.open(snapshot_ids[-1].name)
    file.truncate(100)
    file.close()

    keep = Retention(max_bytes=0, max_ms=0)
    async with running_quorum(world, config=CONFIG, retention=keep) as (driver, loader):
        await driver.store.remove_expired()
        assert snapshot_ids[1] in await snapshots_in(directory)
        assert len(loader.image.topics) == 80


async def test_generator_removes_old_snapshots_on_time_and_then_has_no_deadline(
    world: World, autojump_clock: object
) -> None:
    await format_root(world)
    keep = Retention(max_bytes=-1, max_ms=DAY_MS)
    settings = SnapshotSettings(max_snapshot_interval_ms=3_600_000)
    async with running_quorum(world, config=CONFIG, retention=keep) as (driver, loader):
        directory = driver.store.directory
        generator = SnapshotGenerator(driver, settings, Node("broker", "broker"))
        loader.add(generator)
        async with trio.open_nursery() as nursery:
            await nursery.start(generator.run)
            await topics(driver, loader, 0)
            await trio.sleep(3 * 3600)
            await topics(driver, loader, 40)
            await trio.sleep(2 * 3600)
            two = (await snapshots_in(directory))[-2:]
            assert len(set(two)) == 2
            await trio.sleep(18.9 * 3600)
            assert two[0] in await snapshots_in(directory)
            await trio.sleep(0.2 * 3600)
            assert await snapshots_in(directory) == two[1:]
            steps = trio.lowlevel.current_statistics()
            assert steps.seconds_to_next_deadline > 1e9
            nursery.cancel_scope.cancel()


async def test_snapshots_above_max_bytes_are_removed_a_minute_after_new_records(
    world: World, autojump_clock: object
) -> None:
    await format_root(world)
    keep = Retention(max_bytes=0, max_ms=-1)
    async with running_quorum(world, config=CONFIG, retention=keep) as (driver, loader):
        snapshot_ids = await snapshots(driver, loader, 1, 1)
        generator = SnapshotGenerator(driver, SnapshotSettings(), Node("broker", "broker"))
        loader.add(generator)
        async with trio.open_nursery() as nursery:
            await nursery.start(generator.run)
            await trio.sleep(1000)
            assert await snapshots_in(driver.store.directory) == snapshot_ids
            await topics(driver, loader, 80)
            await trio.sleep(59)
            assert await snapshots_in(driver.store.directory) == snapshot_ids
            await trio.sleep(2)
            assert await snapshots_in(driver.store.directory) == snapshot_ids[-1:]
            nursery.cancel_scope.cancel()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_power_loss_during_the_cleaning_of_the_log_loses_no_record(seed: int) -> None:
    async def main(universe: Universe) -> None:
        world = universe.machine("broker")
        await format_root(world)
        async with running_quorum(world, config=CONFIG, retention=ALL) as (driver, loader):
            await snapshots(driver, loader, *range(1, 4))
            await topics(driver, loader, 120)  # which are in the log alone

        async def life(world: SimulatedWorld) -> None:
            async def lose_power() -> None:
                await trio.sleep(universe.chance("crash").uniform(0.0, 0.1))
                world.crash(power=True, kept=0.5)

            keep = Retention(max_bytes=0)
            async with (
                running_quorum(world, config=CONFIG, retention=keep) as (driver, _),
                trio.open_nursery() as nursery,
            ):
                nursery.start_soon(lose_power)
                await driver.store.remove_expired()

        await run_until_crash(world, life, 10.0)
        world = universe.machine("broker")
        async with running_quorum(world, config=CONFIG, retention=ALL) as (_, loader):
            assert len(loader.image.topics) == 160

    run_simulated(main, seed, moody=True)


@pytest.mark.parametrize("call", ["open", "create", "names", "sync_directory"])
async def test_snapshots_are_removed_as_soon_as_a_descriptor_is_free(
    world: World, autojump_clock: object, call: str
) -> None:
    await format_root(world)
    config = LogConfig(segment_bytes=2_000)
    async with running_quorum(world, config=config, retention=ALL) as (driver, loader):
        snapshot_ids = await snapshots(driver, loader, 1, 2, 3)
        driver.store.cleaner.retention = Retention(max_bytes=0, max_ms=-1)
        free_at = trio.current_time() + 90.0
        attempts: list[str] = []

        def fault(machine: str, name: str, target: str) -> OSError | None:
            if name != call or trio.current_time() >= free_at:
                return None
            attempts.append(target)
            return OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        world.universe.fault = fault
        await driver.store.remove_expired()

        assert await snapshots_in(driver.store.directory) == snapshot_ids[-1:]
        assert not attempts or trio.current_time() >= free_at
        assert attempts
        assert driver.store.log.failed is None
