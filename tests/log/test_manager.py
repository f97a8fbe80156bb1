import errno

import pytest
import trio

from tests.log.kit import append, batch, content_of, fill, offsets, read_all, sample
from trio_kafka.errors import LogDirError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.config import LogConfig
from trio_kafka.log.identity import IdentityError, new_directory_id
from trio_kafka.log.loading import load_logs
from trio_kafka.log.manager import LogManager
from trio_kafka.log.meta_properties import MetaProperties, write_meta_properties
from trio_kafka.log.partition_metadata import parse_id
from trio_kafka.log.queries import read
from trio_kafka.log.sync import sync
from trio_kafka.log.upkeep import retain_all, sync_due, write_checkpoints
from trio_kafka.model import NodeId, TopicId, TopicPartition
from trio_kafka.testing.simulation import fault_on, run_simulated, run_until_crash

IDENTITY = MetaProperties(node_id=NodeId(1), cluster_id="cluster")
TOPIC_ID = TopicId(bytes(range(16)))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SMALL = LogConfig(segment_bytes=300)


async def format_directory(world, path, directory_id="A" * 22, identity=IDENTITY):
    root = world.directory(path, create=True)
    properties = MetaProperties(
        node_id=identity.node_id, cluster_id=identity.cluster_id, directory_id=directory_id
    )
    await write_meta_properties(root, properties)
    return root


async def start(manager, identity=IDENTITY, *, config=None, delete_delay_ms=60_000):
    await manager.open()
    await manager.identify(identity)
    config = config or LogConfig()
    await load_logs(manager, lambda partition: config, delete_delay_ms=delete_delay_ms)


async def started(world, *paths, config=SMALL, **options) -> LogManager:
    manager = LogManager(world, paths or ("/data",), Node("broker", "broker"), **options)
    await start(manager, config=config)
    return manager


async def test_logs_are_as_they_were_after_a_clean_stop(autojump_clock, world):
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


async def test_two_calls_remove_each_deleted_log_once(autojump_clock, world):
    root = await format_directory(world, "/data")
    manager = await started(world)
    for partition in (T0, T1):
        manager.create(partition, TOPIC_ID, SMALL)
        manager.delete(partition)
    await trio.sleep(61)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(manager.removal.remove_due)
        nursery.start_soon(manager.removal.remove_due)

    assert not [name for name in root.names() if name.endswith("-delete")]
    assert manager.figures()["deleted"] == 0


async def test_a_directory_of_kafka_is_taken_over(autojump_clock, world):
    root = world.directory("/data", create=True)
    await fill(root, sample("log_dir_root")[""])
    for name in ("plain", "epochs", "txn", "trimmed", "compacted"):
        await fill(root.directory(f"{name}-0", create=True), sample(name)[f"{name}-0"])
    manager = LogManager(world, ["/data"], Node("broker", "broker"))
    identity = MetaProperties(node_id=NodeId(1), cluster_id="tUc4FjVgQ2C6K8g1mQWPOg")

    await start(manager, identity)

    ends = {str(log.partition): (log.start_offset, log.high_watermark) for log in manager.logs}
    assert ends == {
        "plain-0": (0, 52),
        "epochs-0": (0, 15),
        "txn-0": (0, 34),
        "trimmed-0": (25, 40),
        "compacted-0": (0, 32),
    }
    epochs = manager.get(TopicPartition("epochs", 0))
    assert epochs.topic_id == parse_id("YMeKavazTnWkzaGVPtHB8Q")


async def test_a_second_manager_does_not_get_the_lock(autojump_clock, world):
    await format_directory(world, "/data")
    await started(world)

    with pytest.raises(LogDirError, match="held by another process"):
        await started(world)


@pytest.mark.parametrize(
    "identity",
    [
        MetaProperties(node_id=NodeId(2), cluster_id="cluster"),
        MetaProperties(node_id=NodeId(1), cluster_id="another"),
    ],
)
async def test_a_directory_of_another_node_or_cluster_is_refused(autojump_clock, world, identity):
    await format_directory(world, "/data", identity=identity)

    with pytest.raises(IdentityError, match="/data is of node"):
        await started(world)


async def test_nothing_starts_on_directories_that_were_never_formatted(autojump_clock, world):
    with pytest.raises(IdentityError, match="no log directory is formatted"):
        await started(world)


async def test_two_directories_with_one_id_are_refused(autojump_clock, world):
    await format_directory(world, "/a")
    await format_directory(world, "/b")

    with pytest.raises(IdentityError, match="have one directory id"):
        await started(world, "/a", "/b")


async def test_an_empty_directory_beside_a_formatted_one_is_formatted(autojump_clock, world):
    await format_directory(world, "/a")

    manager = await started(world, "/a", "/b")

    ids = [directory.properties.directory_id for directory in manager.directories]
    assert len(set(ids)) == 2
    assert len(parse_id(ids[1])) == 16


async def test_new_logs_go_where_the_fewest_are(autojump_clock, world):
    await format_directory(world, "/a", "A" * 22)
    await format_directory(world, "/b", "B" * 22)
    manager = await started(world, "/a", "/b")

    for number in range(4):
        manager.create(TopicPartition("t", number), TOPIC_ID, SMALL)

    assert [len(directory.logs) for directory in manager.directories] == [2, 2]
    assert manager.create(T0, TOPIC_ID, SMALL) is manager.get(T0)


async def test_a_deleted_log_frees_its_name_at_once_and_its_files_later(autojump_clock, world):
    root = await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, SMALL)
    append(log, batch())
    found = read(log, 0, 100, 1)

    manager.delete(T0)
    new = manager.create(T0, TOPIC_ID, SMALL)

    assert new.end_offset == 0
    marked = [name for name in root.names() if name.endswith("-delete")]
    assert len(marked) == 1
    assert await manager.removal.remove_due() == 60.0
    assert marked[0] in root.names()
    await trio.sleep(60)
    assert await manager.removal.remove_due() is None
    assert marked[0] not in root.names()
    assert not found.range.lease.cut
    found.range.release()


async def test_what_was_marked_deleted_before_a_start_is_removed_after_it(autojump_clock, world):
    root = await format_directory(world, "/data")
    await fill(root.directory(f"t-0.{'a' * 32}-delete", create=True), {"x.log": b"x"})
    manager = await started(world)

    await trio.sleep(61)
    await manager.removal.remove_due()

    assert manager.logs == ()
    assert f"t-0.{'a' * 32}-delete" not in root.names()


async def test_a_stray_log_keeps_its_files(autojump_clock, world):
    root = await format_directory(world, "/data")
    manager = await started(world)
    manager.create(T0, TOPIC_ID, SMALL)

    manager.make_stray(T0)
    await trio.sleep(100)
    await manager.removal.remove_due()

    assert [name for name in root.names() if name.startswith("t-0.")]
    assert manager.get(T0) is None


@pytest.mark.parametrize("current", ["old", "new"])
async def test_of_two_logs_of_a_name_the_one_of_the_current_topic_counts(
    autojump_clock, world, current
):
    # A topic was deleted, another one of its name was made in another directory, and a power loss
    # took back the deletion's rename only.
    ids = {"old": TOPIC_ID, "new": TopicId(bytes(16))}
    for path, unique, which in (("/a", "A" * 22, "old"), ("/b", "B" * 22, "new")):
        await format_directory(world, path, unique)
        manager = await started(world, path)
        append(manager.create(T0, ids[which], SMALL), batch(2))
        await manager.close()

    again = LogManager(world, ("/a", "/b"), Node("broker", "broker"))
    await again.open()
    await load_logs(again, lambda _: SMALL, topic_id_of={T0.topic: ids[current]}.get)

    assert again.get(T0).topic_id == ids[current]
    (log,) = again.logs
    assert log.directory.path == {"old": "/a/t-0", "new": "/b/t-0"}[current]
    other = world.directory({"old": "/b", "new": "/a"}[current])
    assert [name.endswith("-stray") for name in other.names() if name.startswith("t-0")] == [True]
    append(log, batch(1))
    await again.close()


async def test_two_logs_of_one_topic_are_refused(autojump_clock, world):
    for path, unique in (("/a", "A" * 22), ("/b", "B" * 22)):
        await format_directory(world, path, unique)
        manager = await started(world, path)
        manager.create(T0, TOPIC_ID, SMALL)
        await manager.close()

    with pytest.raises(ExceptionGroup) as caught:
        await started(world, "/a", "/b")

    assert caught.group_contains(IdentityError, match="t-0 is in /[ab]/t-0 and in /[ab]/t-0")


async def test_the_task_syncs_what_was_sealed(autojump_clock, world, nursery):
    await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, SMALL)
    await nursery.start(manager.run)
    for _ in range(7):
        append(log, batch())
    await trio.sleep(1)

    assert log.recovery_point == 7


async def test_a_log_whose_sync_takes_long_holds_up_no_other(autojump_clock, world, nursery):
    await format_directory(world, "/data")
    manager = await started(world, config=LogConfig(flush_messages=1))
    await nursery.start(manager.run)
    slow, fast = (manager.create(one, TOPIC_ID, LogConfig(flush_messages=1)) for one in (T0, T1))

    async with slow.writing:
        for _ in range(10):  # as often as there are others to sync it
            append(slow, batch())
            append(fast, batch())
            await trio.sleep(0.3)
        assert (slow.recovery_point, fast.recovery_point) == (0, 10)
    await trio.sleep(0.5)

    assert slow.recovery_point == 10


async def test_a_log_that_is_deleted_while_it_is_synced_stops_nothing(
    autojump_clock, world, nursery
):
    await format_directory(world, "/data")
    manager = await started(world)
    await nursery.start(manager.run)
    log = manager.create(T0, TOPIC_ID, SMALL)
    for _ in range(7):
        append(log, batch())
    await trio.sleep(0.002)
    manager.delete(T0)
    await trio.sleep(1)

    other = manager.create(T1, TOPIC_ID, SMALL)
    for _ in range(7):
        append(other, batch())
    await trio.sleep(1)

    assert other.recovery_point == 7
    assert manager.directories[0].offline is None


async def test_logs_are_synced_when_flush_ms_is_over(autojump_clock, world):
    await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, LogConfig(flush_ms=500))
    append(log, batch())
    await sync_due(manager)
    assert log.recovery_point == 0

    await trio.sleep(0.6)
    await sync_due(manager)

    assert log.recovery_point == 1


async def test_a_failed_directory_goes_offline_with_its_logs_and_the_others_go_on(
    autojump_clock, world
):
    await format_directory(world, "/a", "A" * 22)
    await format_directory(world, "/b", "B" * 22)
    gone = []
    manager = await started(world, "/a", "/b", on_offline=gone.append)
    one, other = manager.create(T0, TOPIC_ID, SMALL), manager.create(T1, TOPIC_ID, SMALL)
    world.universe.fault = lambda machine, call, target: (
        OSError(5, "io") if call == "append" and target.startswith("/a/t-0") else None
    )

    with pytest.raises(LogDirError):
        append(one, batch())

    assert [directory.path for directory in gone] == ["/a"]
    assert manager.get(T0).failed
    assert append(other, batch()).first_offset == 0
    assert manager.create(TopicPartition("u", 0), TOPIC_ID, SMALL).directory.path == "/b/u-0"
    await manager.close()
    assert not world.directory("/a").exists(".kafka_cleanshutdown")
    assert world.directory("/b").exists(".kafka_cleanshutdown")


async def test_a_directory_that_cannot_be_read_is_offline_from_the_start(autojump_clock, world):
    await format_directory(world, "/a", "A" * 22)
    root = await format_directory(world, "/b", "B" * 22)
    await fill(root, {"recovery-point-offset-checkpoint": b"0\n1\nt zero 5\n"})

    manager = await started(world, "/a", "/b")

    assert [directory.path for directory in manager.directories] == ["/a"]
    assert "recovery-point-offset-checkpoint line 3" in str(manager.offline_paths["/b"])


async def test_retention_goes_over_every_log(autojump_clock, world):
    await format_directory(world, "/data")
    config = LogConfig(segment_bytes=200, retention_bytes=0)
    manager = await started(world, config=config)
    log = manager.create(T0, TOPIC_ID, config)
    for _ in range(6):
        append(log, batch())

    assert await retain_all(manager) > 0
    assert log.start_offset > 0


async def test_figures_count_what_is_there(autojump_clock, world):
    await format_directory(world, "/data")
    manager = await started(world)
    manager.create(T0, TOPIC_ID, SMALL)

    assert manager.figures() == {"directories": 1, "offline": 0, "logs": 1, "deleted": 0}
    assert manager.get(T0).figures()["end"] == 0


async def test_an_id_does_not_begin_with_a_dash(autojump_clock, world):
    ids = [new_directory_id(world) for _ in range(200)]

    assert not any(text.startswith("-") for text in ids)
    assert len(set(ids)) == 200


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


def test_a_broker_starts_after_any_crash_with_all_that_was_synced(size):
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
        found = {log.partition: (log, offsets(await read_all(log))) for log in manager.logs}
        return acked, manager, found

    for seed in range(size(30, 1000)):
        acked, manager, found = run_simulated(lives, seed, moody=True)
        assert not manager.offline_paths, seed
        assert not any(directory.offline for directory in manager.directories), seed
        for log, seen in found.values():
            assert seen == list(range(log.start_offset, log.end_offset)), seed
        for partition, end in acked.items():
            if end is not None:
                assert found[partition][0].end_offset >= end, (seed, partition)


def test_a_power_loss_after_a_clean_stop_takes_nothing_that_the_next_start_trusts():
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


async def test_checkpoints_of_a_deleted_log_do_not_speak_for_the_new_one(autojump_clock, world):
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


async def test_open_files_of_all_logs_are_one_budget(autojump_clock, world):
    await format_directory(world, "/data")
    manager = await started(world, open_files=5)
    logs = [manager.create(at, TOPIC_ID, SMALL) for at in (T0, T1)]
    for log in logs:
        for _ in range(40):
            append(log, batch(2))
        await sync(log)
        await read_all(log)
    (node,) = [child for child in manager._node.children if child.name == "open-files"]

    figures = node.figures()
    assert (figures["open"], figures["budget"]) == (5, 5)
    assert figures["evicted"] > 5
    await manager.close()

    assert node.figures()["open"] == 0


async def test_a_creation_without_a_descriptor_leaves_the_directory_online(autojump_clock, world):
    await format_directory(world, "/data")
    manager = await started(world)
    for target in (".log", "partition.metadata"):
        full = OSError(errno.EMFILE, "too many open files")
        world.universe.fault = fault_on("create", full, target)

        with pytest.raises(LogDirError, match="too many open files"):
            manager.create(T0 if target == ".log" else T1, TOPIC_ID, SMALL)

    assert manager.directories[0].offline is None
    assert manager.logs == ()
