"""Whose directories these are, and what is said where the broker cannot start with them."""

import errno
import os

import pytest

from tests.broker.kit import APIS, config_of, content_of, live_once, logs_of
from trio_kafka.broker import Broker, StartError
from trio_kafka.broker.storage import open_storage
from trio_kafka.log.manager.meta_properties import read_meta_properties
from trio_kafka.testing.simulation import fault_on


async def refused(world, config, *, format_if_empty: bool = False) -> str:
    """Why the broker does not start; nothing stays locked."""
    held = dict(world.locks)
    with pytest.raises(StartError) as caught:
        async with Broker(config, world, format_if_empty=format_if_empty, apis=APIS):
            pytest.fail("it started")
    assert world.locks == held
    return str(caught.value)


async def overwrite(world, path: str, name: str, content: bytes) -> None:
    root = world.directory(path)
    await root.unlink(name)
    root.create(name).append([content])


async def test_unformatted_directory_is_refused_with_advice(world, autojump_clock) -> None:
    reason = await refused(world, config_of())

    assert reason == (
        "/data is not formatted: run `trio-kafka format`, or start with --format-if-empty"
    )


async def test_refused_start_creates_no_directories(world, autojump_clock) -> None:
    settings = {"log.dirs": "/new,/other", "metadata.log.dir": "/meta"}

    assert (await refused(world, config_of(settings))).startswith("/meta is not formatted")

    for path in ("/new", "/other", "/meta"):
        with pytest.raises(FileNotFoundError):
            world.directory(path)


async def test_refused_start_leaves_an_empty_directory_empty(world, autojump_clock) -> None:
    world.directory("/data", create=True)

    await refused(world, config_of())

    assert world.directory("/data").names() == []


async def test_directory_of_another_node_id_is_refused(world, autojump_clock) -> None:
    world = await live_once(world, config_of(), clean=True)

    reason = await refused(world, config_of(node_id="7"))

    assert reason == "/data belongs to node 1, but node.id is 7: correct one of them"


async def test_directories_of_two_clusters_are_refused(world, autojump_clock) -> None:
    world = await live_once(world, config_of(), clean=True)
    await live_once(world.universe.machine("x"), config_of(), clean=True)
    other = content_of(world.universe.machines["x"], "/data", "meta.properties")
    world.directory("/b", create=True).create("meta.properties").append([other])

    reason = await refused(world, config_of({"log.dirs": "/data,/b"}))

    assert "/b is of node 1 of cluster" in reason
    assert reason.endswith(": correct log.dirs or metadata.log.dir")


async def test_two_directories_with_the_same_directory_id_are_refused(
    world, autojump_clock
) -> None:
    world = await live_once(world, config_of(), clean=True)
    same = content_of(world, "/data", "meta.properties")
    world.directory("/b", create=True).create("meta.properties").append([same])

    reason = await refused(world, config_of({"log.dirs": "/data,/b"}))

    assert reason.startswith("/b and /data have one directory id")


@pytest.mark.parametrize("used", ["/data", "/b", "/m"])
async def test_directory_locked_by_another_process_is_refused(
    world, autojump_clock, used: str
) -> None:
    config = config_of({"log.dirs": "/data,/b", "metadata.log.dir": "/m"})
    world = await live_once(world, config, clean=True)
    world.directory(used).lock(".lock")

    reason = await refused(world, config)

    assert reason == (
        f"log directory {used}: .lock is held by another process: stop the broker that uses it"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"nonsense", "meta.properties: line 1 is 'nonsense', want name=value. Restore"),
        (b"version=7\n", "meta.properties: version is '7', want 1. Restore"),
        (b"version=1\nnode.id=one\n", "meta.properties: node.id is 'one', want a number. Restore"),
    ],
)
async def test_unreadable_identity_is_refused_with_the_cause(
    world, autojump_clock, content: bytes, reason: str
) -> None:
    world = await live_once(world, config_of(), clean=True)
    await overwrite(world, "/data", "meta.properties", content)

    assert f"log directory /data: {reason}" in await refused(world, config_of())


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EACCES, "give this user the right to write there"),
        (errno.EROFS, "name a directory that can be written to"),
        (errno.ENOSPC, "make room on the disk"),
    ],
)
async def test_directory_that_cannot_be_written_is_refused_with_cause_and_advice(
    world, autojump_clock, number: int, advice: str
) -> None:
    world.universe.fault = fault_on("lock", OSError(number, os.strerror(number)), "/data")

    reason = await refused(world, config_of(), format_if_empty=True)

    assert reason.startswith("log directory /data: ")
    assert os.strerror(number) in reason
    assert reason.endswith(f": {advice}")


async def test_full_disk_at_the_start_is_refused_with_advice(world, autojump_clock) -> None:
    world.capacity = 0

    reason = await refused(world, config_of(), format_if_empty=True)

    assert reason.startswith("log directory /data: ")
    assert reason.endswith(": make room on the disk")


async def test_identity_without_a_directory_id_is_refused_with_advice_to_format(
    world, autojump_clock
) -> None:
    world = await live_once(world, config_of(), clean=True)
    identity = content_of(world, "/data", "meta.properties").split(b"\n")
    old = b"\n".join(line for line in identity if not line.startswith(b"directory.id"))
    await overwrite(world, "/data", "meta.properties", old)

    assert "has no directory.id: run `trio-kafka format" in await refused(world, config_of())


async def test_metadata_log_of_another_directory_is_refused(world, autojump_clock) -> None:
    world = await live_once(world, config_of(), clean=True)
    identity = await read_meta_properties(world.directory("/data"))
    changed = content_of(world, "/data", "meta.properties").replace(
        identity.directory_id.encode(), b"AAAAAAAAAAAAAAAAAAAAAQ"
    )
    await overwrite(world, "/data", "meta.properties", changed)

    reason = await refused(world, config_of())

    assert reason.startswith("/data: voter 1 has directory id ")
    assert reason.endswith("its metadata log belongs to another directory")


async def test_metadata_log_may_have_its_own_directory(world, autojump_clock) -> None:
    config = config_of({"log.dirs": "/a,/b", "metadata.log.dir": "/m"})

    world = await live_once(world, config, clean=True)
    async with Broker(config, world, apis=APIS) as broker:
        assert "t" in broker.metadata.image.topics

    paths = ("/a", "/b", "/m")
    identities = [await read_meta_properties(world.directory(path)) for path in paths]
    assert len({identity.cluster_id for identity in identities}) == 1
    assert len({identity.directory_id for identity in identities}) == 3
    assert world.directory("/m").names() == [
        ".kafka_cleanshutdown",
        "__cluster_metadata-0",
        "log-start-offset-checkpoint",
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    ]
    assert not world.directory("/a").exists("__cluster_metadata-0")


async def test_abandoned_storage_releases_its_locks(world, autojump_clock) -> None:
    config = config_of({"metadata.log.dir": "/m"})
    logs = logs_of(world, config)

    storage = await open_storage(world, config, logs, format_if_empty=True)
    assert set(world.locks) == {"/data/.lock", "/m/.lock"}
    assert len(storage.directory_id) == 16
    storage.abandon()
    logs.abandon()

    assert world.locks == {}
