import pytest

from tests.log.kit import (
    PARTITION,
    append,
    batch,
    content_of,
    fill,
    new_log,
    offsets,
    read_all,
)
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync import close
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.recovery.segment_loader import Recovery

RECORDS = {
    "plain-0": 52,
    "epochs-0": 15,
    "logappend-0": 5,
    "compacted-0": 14,
    "gzip-0": 40,
    "snappy-0": 40,
    "lz4-0": 40,
    "zstd-0": 40,
}


async def test_deleted_temporary_and_cleaned_files_are_removed_at_load(autojump_clock, world):
    directory = world.directory("/t-0", create=True)
    await fill(
        directory, {"00000000000000000003.log.deleted": b"x", "a.tmp": b"", "b.cleaned": b""}
    )

    await open_log(world, directory, PARTITION, config=LogConfig())

    assert directory.names() == ["00000000000000000000.log"]


async def test_swap_file_replaces_its_segments_at_load(autojump_clock, world):
    log = new_log(world, segment_bytes=400)
    for number in range(12):
        append(log, batch(2, size=40), epoch=number // 3)
    rows = log.epochs.rows
    await close(log)
    bases = [segment.base_offset for segment in log.segments]
    merged = b"".join([await content_of(log.directory, f"{base:020}.log") for base in bases[:2]])
    await fill(log.directory, {f"{0:020}.log.swap": merged, f"{0:020}.index.swap": b""})

    recovery = Recovery(clean=True)
    again = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)

    assert [segment.base_offset for segment in again.segments] == [0, *bases[2:]]
    assert offsets(await read_all(again)) == list(range(24))
    assert again.epochs.rows == rows
    assert not [name for name in log.directory.names() if name.endswith(".swap")]


@pytest.mark.parametrize("damage", [lambda swap: b"", lambda swap: swap[:-1]])
async def test_damaged_swap_file_replaces_no_segment(autojump_clock, world, damage):
    log = new_log(world, segment_bytes=400)
    for _ in range(12):
        append(log, batch(2, size=40))
    await close(log)
    swap = damage(await content_of(log.directory, f"{0:020}.log"))
    await fill(log.directory, {f"{0:020}.log.swap": swap})

    again = await open_log(
        world, log.directory, PARTITION, config=log.config, recovery=Recovery(clean=True)
    )

    assert offsets(await read_all(again)) == list(range(24))
    assert not [name for name in log.directory.names() if name.endswith(".swap")]


@pytest.mark.parametrize("leftovers", ["all", "some"])
async def test_empty_swap_file_with_its_index_replaces_a_segment(autojump_clock, world, leftovers):
    log = new_log(world, segment_bytes=400)
    for _ in range(12):
        append(log, batch(2, size=40))
    await close(log)
    bases = [segment.base_offset for segment in log.segments]
    if leftovers == "some":  # the crash was later: the old file had lost its name
        await log.directory.unlink(f"{0:020}.log")
    swap = {f"{0:020}.log.swap": b"", f"{0:020}.index.swap": b"", f"{0:020}.timeindex.swap": b""}
    await fill(log.directory, swap)

    again = await open_log(
        world, log.directory, PARTITION, config=log.config, recovery=Recovery(clean=True)
    )

    assert [segment.base_offset for segment in again.segments] == bases
    assert offsets(await read_all(again)) == list(range(bases[1], 24))
    assert not [name for name in log.directory.names() if name.endswith(".swap")]


async def test_indexes_of_a_swap_file_are_used_without_rebuilding(autojump_clock, world, caplog):
    log = new_log(world, segment_bytes=400, index_interval_bytes=1)
    for _ in range(12):
        append(log, batch(2, size=40))
    await close(log)
    names = [f"{0:020}{kind}" for kind in (".log", ".index", ".timeindex")]
    contents = {f"{name}.swap": await content_of(log.directory, name) for name in names}
    await fill(log.directory, contents)

    again = await open_log(
        world, log.directory, PARTITION, config=log.config, recovery=Recovery(clean=True)
    )

    assert offsets(await read_all(again)) == list(range(24))
    assert "missing index rebuilt" not in caplog.text
    for name in names:
        assert await content_of(log.directory, name) == contents[f"{name}.swap"]
