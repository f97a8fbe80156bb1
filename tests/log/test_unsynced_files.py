import re

from tests.log.kit import append, batch, new_log
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.unsynced_files import UnsyncedFiles


def synced(world):
    """Names of what was synced since the last call, in order."""
    found = [re.search(r" sync\w* (\S+) \w{8}$", line) for line in world.universe.trace]
    world.universe.trace.clear()
    return [one[1] for one in found if one]


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
