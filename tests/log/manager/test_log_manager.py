import errno

import pytest
import trio

from tests.log.kit import append, batch, content_of, fill, offsets, read_all
from tests.log.managers import SMALL, T0, T1, TOPIC_ID, format_directory, start, started
from trio_kafka.errors import LogDirError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.manager.maintenance import retain_all, write_checkpoints
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulation import fault_on, run_simulated, run_until_crash
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld


async def test_logs_are_the_same_after_a_clean_stop_and_a_start(autojump_clock, world):
    root = await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, SMALL)
    for _ in range(5):
        append(log, batch(2))
    log.set_start_offset(3)
    await manager.close(broker_epoch=208)
    assert await content_of(root, ".kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":208}'
    assert not root.exists(".lock")

    again = await started(world)

    log = again.get(T0)
    assert (log.start_offset, log.high_watermark, log.end_offset) == (3, 10, 10)
    assert log.topic_id == TOPIC_ID
    assert log.recovery_point == 10
    assert not root.exists(".kafka_cleanshutdown")


async def test_second_log_manager_of_a_directory_is_refused_its_lock(autojump_clock, world):
    await format_directory(world, "/data")
    await started(world)

    with pytest.raises(LogDirError, match="held by another process"):
        await started(world)


async def test_new_logs_are_spread_evenly_over_the_directories(autojump_clock, world):
    await format_directory(world, "/a", "A" * 22)
    await format_directory(world, "/b", "B" * 22)
    manager = await started(world, "/a", "/b")

    for number in range(4):
        manager.create(TopicPartition("t", number), TOPIC_ID, SMALL)

    assert [len(directory.logs) for directory in manager.directories] == [2, 2]
    assert manager.create(T0, TOPIC_ID, SMALL) is manager.get(T0)


async def test_failed_directory_goes_offline_with_its_logs_and_others_stay_online(
    autojump_clock, world
):
    await format_directory(world, "/a", "A" * 22)
    await format_directory(world, "/b", "B" * 22)
    gone = []
    manager = await started(world, "/a", "/b", on_offline=gone.append)
    first, second = manager.create(T0, TOPIC_ID, SMALL), manager.create(T1, TOPIC_ID, SMALL)
    world.universe.fault = lambda machine, call, target: (
        OSError(5, "io") if call == "append" and target.startswith("/a/t-0") else None
    )

    with pytest.raises(LogDirError):
        append(first, batch())

    assert [directory.path for directory in gone] == ["/a"]
    assert manager.get(T0).failed
    assert append(second, batch()).first_offset == 0
    assert manager.create(TopicPartition("u", 0), TOPIC_ID, SMALL).directory.path == "/b/u-0"
    await manager.close()
    assert not world.directory("/a").exists(".kafka_cleanshutdown")
    assert world.directory("/b").exists(".kafka_cleanshutdown")


async def test_a_directory_that_cannot_be_read_is_offline_from_the_start(autojump_clock, world):
    await format_directory(world, "/a", "A" * 22)
    root = await format_directory(world, "/b", "B" * 22)
    await root.unlink("meta.properties")
    await fill(root, {"meta.properties": b"version=1\nnode.id=one\ncluster.id=c\n"})

    manager = await started(world, "/a", "/b")

    assert [directory.path for directory in manager.directories] == ["/a"]
    assert "meta.properties: node.id is 'one'" in str(manager.offline_paths["/b"])


async def test_figures_of_the_log_manager_count_directories_and_logs(autojump_clock, world):
    await format_directory(world, "/data")
    manager = await started(world)
    manager.create(T0, TOPIC_ID, SMALL)

    assert manager.figures() == {
        "directories": 1,
        "offline": 0,
        "threads": 4,
        "logs": 1,
        "futures": 0,
        "cordoned": 0,
        "deleted": 0,
        "strays": 0,
    }
    assert manager.get(T0).figures()["end"] == 0


async def life_of_a_broker(world, acked):
    """Two partitions: appended to, synced, retained, deleted; checkpoints now and then."""
    manager = LogManager(world, ["/data"], Node("broker", "broker"))
    config = LogConfig(segment_bytes=800, retention_bytes=2500, file_delete_delay_ms=100)
    await start(manager, config=config, delete_delay_ms=100)
    async with trio.open_nursery() as nursery:
        await nursery.start(manager.run)
        while True:
            partition = world.random.choice((T0, T1))
            log = manager.create(partition, TOPIC_ID, config)
            for _ in range(world.random.randrange(1, 8)):
                append(log, batch(size=world.random.choice((10, 200))))
            match world.random.randrange(8):
                case 0:
                    await write_checkpoints(manager)
                case 1:
                    await retain_all(manager)
                case 2 if log.end_offset > 30:
                    manager.delete(partition)
                    acked[partition] = None
                case 3:
                    await manager.removal.remove_due()
                case 4 if world.random.random() < 0.2:
                    await manager.close()
                    nursery.cancel_scope.cancel()
                    return
                case _:
                    end = log.end_offset
                    await sync(log)
                    acked[partition] = end


def test_all_synced_records_are_loaded_after_any_crash(size):
    async def lives(universe):
        acked = {}
        world = universe.machine("broker")
        await format_directory(world, "/data")
        world.crash(power=False)
        for _ in range(4):
            world = universe.machine("broker")
            after = universe.time_chance.uniform(0.1, 1.0)
            power = universe.time_chance.random() < 0.7
            await run_until_crash(world, lambda w: life_of_a_broker(w, acked), after, power=power)
        world = universe.machine("broker")
        manager = LogManager(world, ["/data"], Node("broker", "broker"))
        await start(manager)
        result = {log.partition: (log, offsets(await read_all(log))) for log in manager.logs}
        return acked, manager, result

    for seed in range(size(30, 1000)):
        acked, manager, result = run_simulated(lives, seed, moody=True)
        assert not manager.offline_paths, seed
        assert not any(directory.offline for directory in manager.directories), seed
        for log, seen in result.values():
            assert seen == list(range(log.start_offset, log.end_offset)), seed
        for partition, end in acked.items():
            if end is not None:
                assert result[partition][0].end_offset >= end, (seed, partition)


def test_power_loss_after_a_clean_stop_changes_no_file_of_a_log():
    config = LogConfig(index_interval_bytes=0)

    async def lives(universe):
        world = universe.machine("broker")
        root = await format_directory(world, "/data")
        manager = await started(world, config=config)
        log = manager.create(T0, TOPIC_ID, config)
        for _ in range(30):
            append(log, batch(2))
        await manager.close()
        names = root.directory("t-0").names()
        before = {name: await content_of(root.directory("t-0"), name) for name in names}
        world.crash(power=True, kept=0.0)
        folder = universe.machine("broker").directory("/data").directory("t-0")
        return before, {name: await content_of(folder, name) for name in folder.names()}

    before, after = run_simulated(lives)

    assert after == before
    assert len(before["00000000000000000000.index"]) > 0


async def test_new_log_ignores_checkpoints_of_a_deleted_log_of_its_name(autojump_clock, world):
    await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, SMALL)
    append(log, batch(10))
    await sync(log)
    log.set_start_offset(8)
    await write_checkpoints(manager)
    manager.delete(T0)
    log = manager.create(T0, TOPIC_ID, SMALL)
    append(log, batch(3))
    await sync(log)
    world.crash(power=False)

    again = await started(world.universe.machine("broker"))

    log = again.get(T0)
    assert (log.start_offset, log.end_offset) == (0, 3)
    assert offsets(await read_all(log)) == [0, 1, 2]


async def test_all_logs_share_one_budget_of_open_files(autojump_clock, world):
    await format_directory(world, "/data")
    manager = await started(world, open_files=5)
    logs = [manager.create(at, TOPIC_ID, SMALL) for at in (T0, T1)]
    for log in logs:
        for _ in range(40):
            append(log, batch(2))
        await sync(log)
        await read_all(log)
    (node,) = [child for child in manager.node.children if child.name == "open-files"]

    figures = node.figures()
    assert (figures["open"], figures["budget"]) == (5, 5)
    assert figures["evicted"] > 5
    await manager.close()

    assert node.figures()["open"] == 0


async def test_all_logs_share_the_descriptors_of_the_process(autojump_clock, world):
    await format_directory(world, "/data")
    world.descriptors.limit = 64
    world.descriptors.others = world.descriptors.shared - 20
    manager = await started(world)
    logs = [manager.create(TopicPartition("t", n), TOPIC_ID, SMALL) for n in range(40)]
    assert world.descriptors.files <= 20

    async with trio.open_nursery() as nursery:
        await nursery.start(manager.run)
        for log in logs:
            append(log, batch(2))
            await trio.sleep(0.1)  # for the task that syncs some, as nothing else does
        assert world.descriptors.files <= 20
        nursery.cancel_scope.cancel()

    assert [log.end_offset for log in logs] == [2] * 40
    assert manager.files.given_up > 20
    await manager.close()


async def test_directory_stays_online_if_a_log_is_created_without_a_free_descriptor(
    autojump_clock, world
):
    await format_directory(world, "/data")
    manager = await started(world)
    full = OSError(errno.EMFILE, "too many open files")
    world.universe.fault = fault_on("create", full, ".log")

    with pytest.raises(LogDirError, match="too many open files"):
        manager.create(T0, TOPIC_ID, SMALL)

    assert manager.directories[0].offline is None
    assert manager.logs == ()


async def test_each_directory_has_the_configured_number_of_threads(tmp_path):
    paths = [str(tmp_path / name) for name in "ab"]
    manager = LogManager(RealWorld(SkippingClock()), paths, Node("b", "broker"), threads=9)

    def tokens():
        return [directory.root._volume.limiter.total_tokens for directory in manager.directories]

    await manager.open()
    try:
        assert tokens() == [9, 9]
        manager.resize(2)
        assert tokens() == [2, 2]
    finally:
        manager.abandon()


async def test_log_is_created_in_the_directory_with_the_fewest_logs_not_cordoned(
    autojump_clock, world
):
    for path, unique in (("/a", "A" * 22), ("/b", "B" * 22), ("/c", "C" * 22)):
        await format_directory(world, path, unique)
    manager = await started(world, "/a", "/b", "/c")
    logs = [TopicPartition("t", number) for number in range(9)]
    manager.create_future(
        manager.directories[0], TopicPartition("u", 0), TOPIC_ID, config=SMALL, start_offset=0
    )
    manager.cordon(["/c"])

    for at in logs:
        manager.create(at, TOPIC_ID, SMALL)
    counts = [len(directory.logs) for directory in manager.directories]
    manager.cordon(["*"])
    for number in range(3):
        manager.create(TopicPartition("v", number), TOPIC_ID, SMALL)

    assert counts == [4, 5, 0]  # a future log counts
    assert len(manager.directories[2].logs) == 3  # one must take it


async def test_changes_of_logs_are_reported_while_they_are_watched(autojump_clock, world):
    await format_directory(world, "/data")
    manager = await started(world)
    first, second = [], []

    with manager.watched(first.append), manager.watched(second.append):
        log = manager.create(T0, TOPIC_ID, SMALL)
        manager.delete(T0)
    manager.create(T0, TOPIC_ID, SMALL)

    assert first == second == [log, log]
    assert log.closed
