import errno
import re

import pytest

from tests.log.kit import append, batch, content_of, header, new_log
from trio_kafka.log.append import append_in_thread
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.unsynced_files import UnsyncedFiles


def synced(world):
    """Names of what was synced since the last call, in order."""
    result = [re.search(r" sync\w* (\S+) \w{8}$", line) for line in world.universe.trace]
    world.universe.trace.clear()
    return [found_name[1] for found_name in result if found_name]


async def append_slowly(log) -> None:
    """Append a batch in a thread."""
    records = memoryview(bytearray(batch()))
    async with log.writer.turn("append"):
        await append_in_thread(log, records, header(records), leader_epoch=0)


async def test_sync_writes_old_segments_then_the_active_segment_then_names(autojump_clock, world):
    log = new_log(world, segment_bytes=len(batch()))
    for _ in range(3):
        append(log, batch())
    synced(world)

    await sync(log)

    order = synced(world)
    logs = [name.rsplit("/", 1)[1] for name in order if name.endswith(".log")]
    assert logs == [f"{n:020}.log" for n in range(3)]
    assert order[-1] == "/t-0"
    assert sum(name.endswith(".snapshot") for name in order) == 2


async def test_directory_of_a_log_is_synced_only_for_new_names(autojump_clock, world):
    log = new_log(world)
    await sync(log)
    append(log, batch())
    synced(world)
    await sync(log)
    append(log, batch())
    synced(world)

    await sync(log)

    assert synced(world) == ["/t-0/00000000000000000000.log"]


async def test_parent_directory_of_a_new_log_is_synced_once(autojump_clock, world):
    log = new_log(world, "/data/t-0")
    log.unsynced = UnsyncedFiles(log.directory, world.directory("/data"))
    await sync(log)
    assert synced(world)[-1] == "/data"

    await sync(log)

    assert "/data" not in synced(world)


async def test_segment_whose_sync_failed_stays_unsynced(autojump_clock, world):
    log = new_log(world, segment_bytes=len(batch()))
    for _ in range(2):
        append(log, batch())
    old = log.segments.first
    world.universe.fault = lambda machine, call, target: (
        OSError(5, "io") if target.endswith(f"{0:020}.log") else None
    )

    try:
        await log.unsynced.sync(log.segments.active)
    except OSError:
        failed = True

    assert failed
    assert old in log.unsynced._sealed


async def test_topic_id_is_in_its_file_before_the_first_append_is_answered(autojump_clock, world):
    log = new_log(world)
    log.unsynced.owes(b"content")
    assert "partition.metadata" not in log.directory.names()

    append(log, batch())

    assert await content_of(log.directory, "partition.metadata") == b"content"
    assert not [name for name in log.directory.names() if name.endswith(".tmp")]


async def test_topic_id_that_the_first_append_has_written_is_made_durable_by_the_next_sync(
    autojump_clock, world
):
    log = new_log(world)
    log.unsynced.owes(b"content")
    append(log, batch())
    synced(world)

    await sync(log)
    append(log, batch())

    assert any("partition.metadata" in name for name in synced(world))
    assert not log.unsynced.is_nameless


async def test_append_in_a_thread_writes_the_topic_id_too(autojump_clock, world):
    log = new_log(world)
    log.unsynced.owes(b"content")

    await append_slowly(log)

    assert await content_of(log.directory, "partition.metadata") == b"content"


@pytest.mark.parametrize("in_thread", [False, True])
async def test_append_succeeds_although_the_topic_id_cannot_be_written_yet(
    autojump_clock, world, in_thread: bool
):
    log = new_log(world)
    log.unsynced.owes(b"content")
    world.universe.fault = lambda machine, call, target: (
        OSError(errno.EMFILE, "no descriptor") if "partition.metadata" in target else None
    )

    if in_thread:
        await append_slowly(log)
    else:
        append(log, batch())
    world.universe.fault = lambda machine, call, target: None
    await sync(log)

    assert log.end_offset > 0
    assert await content_of(log.directory, "partition.metadata") == b"content"
