import pytest
import trio

from tests.log.kit import append, batch, fill, sample
from tests.log.managers import IDENTITY, SMALL, T0, TOPIC_ID, format_directory, start, started
from trio_kafka.errors import LogDirError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.files.partition_metadata import parse_id
from trio_kafka.log.manager.identity import IdentityError
from trio_kafka.log.manager.loading import load_logs
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.manager.meta_properties import MetaProperties
from trio_kafka.model import NodeId, TopicId, TopicPartition


async def test_log_directory_of_apache_kafka_is_loaded(autojump_clock, world):
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


async def test_stray_log_keeps_its_files_over_a_restart(autojump_clock, world):
    root = await format_directory(world, "/data")
    manager = await started(world)
    manager.create(T0, TOPIC_ID, SMALL)

    manager.make_stray(T0)
    await trio.sleep(100)
    await manager.removal.remove_due()

    (name,) = [name for name in root.names() if name.startswith("t-0.")]
    assert manager.get(T0) is None
    assert manager.strays == [f"/data/{name}"]
    await manager.close()

    again = await started(world)

    assert again.strays == [f"/data/{name}"]
    assert again.figures()["strays"] == 1
    assert root.directory(name).names()


@pytest.mark.parametrize("current", ["old", "new"])
async def test_log_with_the_current_topic_id_is_kept_of_two_with_one_name(
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


@pytest.mark.parametrize("named", ["/a", "/b"])
async def test_log_in_the_directory_of_the_metadata_is_kept_of_two_without_topic_id(
    autojump_clock, world, named
):
    # A disk failed before it had the topic id. The topic was deleted and created again in another
    # directory, and a power loss took that one's topic id.
    for path, unique in (("/a", "A" * 22), ("/b", "B" * 22)):
        root = await format_directory(world, path, unique)
        manager = await started(world, path)
        append(manager.create(T0, TOPIC_ID, SMALL), batch(2))
        await manager.close()
        await root.directory(str(T0)).unlink("partition.metadata")

    again = LogManager(world, ("/a", "/b"), Node("broker", "broker"))
    await again.open()
    ids = {"/a": "A" * 22, "/b": "B" * 22}
    await load_logs(again, lambda _: SMALL, directory_of=lambda _: ids[named])

    assert [log.directory.path for log in again.logs] == [f"{named}/t-0"]
    await again.close()


async def test_start_is_refused_if_two_logs_have_the_same_partition_and_topic_id(
    autojump_clock, world
):
    for path, unique in (("/a", "A" * 22), ("/b", "B" * 22)):
        await format_directory(world, path, unique)
        manager = await started(world, path)
        manager.create(T0, TOPIC_ID, SMALL)
        await manager.close()

    with pytest.raises(ExceptionGroup) as caught:
        await started(world, "/a", "/b")

    assert caught.group_contains(IdentityError, match="t-0 is in /[ab]/t-0 and in /[ab]/t-0")


async def written(world, count):
    """A directory with the logs t-0, t-1, ..., closed in order."""
    await format_directory(world, "/data")
    manager = await started(world)
    for number in range(count):
        partition = TopicPartition("t", number)
        append(manager.create(partition, TOPIC_ID, SMALL), batch(1 + number % 7))
    await manager.close()
    again = LogManager(world, ["/data"], Node("broker", "broker"))
    await again.open()
    await again.identify(IDENTITY)
    return again


@pytest.mark.parametrize("at_once", [1, 2, 5, 100])
async def test_number_of_logs_loaded_concurrently_in_a_directory_is_bounded(
    autojump_clock, world, at_once
):
    manager = await written(world, 7)
    begun, together = [], []

    def begin(partition):
        begun.append(partition)
        together.append(len(begun) - len(manager.logs))
        return SMALL

    await load_logs(manager, begin, at_once=at_once)

    assert max(together) == min(at_once, 7)
    assert {(log.partition.partition, log.end_offset) for log in manager.logs} == {
        (number, number + 1) for number in range(7)
    }
    assert len(begun) == 7


@pytest.mark.parametrize("at_once", [1, 3, 5])
async def test_a_log_that_cannot_be_read_takes_the_directory_offline_and_ends_the_load(
    autojump_clock, world, at_once
):
    manager = await written(world, 20)
    begun = []

    def begin(partition):
        begun.append(partition)
        return SMALL

    broken_files: list[str] = []

    def break_once(machine, call, target):
        if broken_files or len(begun) < 5 or "/t-" not in target:
            return None
        broken_files.append(target)
        return OSError(5, "broken")

    world.universe.fault = break_once
    with pytest.raises(LogDirError, match="broken"):
        await load_logs(manager, begin, at_once=at_once)

    assert len(begun) < 5 + at_once
    assert all(log.failed for log in manager.logs)


async def test_logs_loaded_before_their_directory_fails_are_failed_too(autojump_clock, world):
    manager = await written(world, 5)
    (directory,) = manager.online

    def begin(partition):
        if len(manager.logs) == 2:
            directory.fail(LogDirError("/data", "broken"))
        return SMALL

    with pytest.raises(LogDirError, match="broken"):
        await load_logs(manager, begin)

    assert [log.failed is directory.offline for log in manager.logs] == [True, True]


@pytest.mark.parametrize(
    ("silent_ms", "producer_ids"),
    [(45_000, {2}), (90_000, {1, 2}), (15_000, set()), (None, {1, 2})],
)
async def test_expired_producers_are_not_loaded(autojump_clock, world, silent_ms, producer_ids):
    await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, SMALL)
    now = manager.now_ms()
    for producer, age in ((1, 60_000), (2, 30_000)):
        sent = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0}
        append(log, batch(timestamp=now - age, **sent))
    await manager.close()

    manager = LogManager(world, ["/data"], Node("broker", "broker"))
    await manager.open()
    await manager.identify(IDENTITY)
    await load_logs(manager, lambda _: SMALL, producers_silent_ms=silent_ms)

    assert {row.producer_id for row in manager.get(T0).producers} == producer_ids


async def test_load_has_a_node_while_in_progress_and_logs_its_counts_at_the_end(
    autojump_clock, world, caplog
):
    caplog.set_level("INFO")
    manager = await written(world, 3)
    seen = []

    def begin(partition):
        root = manager.node.parent
        seen.extend(node.name for _, node in root.walk() if node.name.startswith("loading"))
        return SMALL

    await load_logs(manager, begin)

    assert seen == ["loading /data"] * 3
    assert not any(node.name.startswith("loading") for node in manager.node.children)
    (record,) = [entry for entry in caplog.records if entry.msg == "logs loaded"]
    assert (record.fields["logs"], record.fields["loaded"], record.fields["recovered"]) == (3, 3, 0)


@pytest.mark.parametrize("installed", [True, False])
async def test_large_segments_are_checked_in_worker_processes_if_available(
    autojump_clock, world, installed, monkeypatch
):
    manager = await written(world, 3)
    manager.abandon()
    manager = await started(world)
    for log in manager.logs:
        append(log, batch(5))
    manager.abandon()
    targets = []
    world.universe.fault = lambda _, call, target: (
        targets.append(target) if "proc" in call else None
    )
    if not installed:
        monkeypatch.setattr(type(world), "kept_workers", raise_import_error)
    manager = LogManager(world, ["/data"], Node("broker", "broker"))
    await manager.open()
    await manager.identify(IDENTITY)

    await load_logs(manager, lambda _: SMALL, worker_bytes=1)

    assert {log.end_offset for log in manager.logs} == {6, 7, 8}
    assert set(targets) == ({f"/data/t-{number}" for number in range(3)} if installed else set())


def raise_import_error(world):
    raise ImportError
