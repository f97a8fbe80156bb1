import pytest

from tests.log.kit import (
    PARTITION,
    append,
    batch,
    content_of,
    fill,
    headers,
    new_log,
    offsets,
    read_all,
)
from trio_kafka.log.append import append_as_follower
from trio_kafka.log.durability.sync import close, sync
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.recovery.segment_loader import Known
from trio_kafka.log.rolling import roll

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


async def test_a_torn_tail_is_cut_and_later_segments_are_dropped(autojump_clock, world):
    log = new_log(world, segment_bytes=400)
    for _ in range(12):
        append(log, batch(2, size=40))
    await sync(log)
    second = list(log.segments)[1]
    log.abandon()
    damaged = log.directory.open(f"{second.base_offset:020}.log")
    damaged.truncate(damaged.size - 1)
    damaged.close()

    again = await open_log(world, log.directory, PARTITION, log.config)

    assert offsets(await read_all(again)) == list(range(again.end_offset))
    assert second.base_offset <= again.end_offset < second.base_offset + 6
    assert again.segments.active.base_offset == second.base_offset


async def test_a_segment_that_does_not_continue_the_one_before_is_dropped(autojump_clock, world):
    log = new_log(world, segment_bytes=400)
    for _ in range(12):
        append(log, batch(2, size=40))
    await sync(log)
    second = list(log.segments)[1].base_offset
    log.abandon()
    await log.directory.unlink(f"{second:020}.log")

    again = await open_log(world, log.directory, PARTITION, log.config)

    assert again.end_offset == second


async def test_damage_in_a_closed_segment_costs_no_other_batch(autojump_clock, world, caplog):
    log = new_log(world, segment_bytes=400)
    for _ in range(12):
        append(log, batch(2, size=40))
    await close(log)
    first, second, *_ = [segment.base_offset for segment in log.segments]
    content = bytearray(await content_of(log.directory, f"{first:020}.log"))
    content[17] ^= 1  # in the CRC of the first batch
    for name in (f"{first:020}.log", f"{first:020}.index"):
        await log.directory.unlink(name)
    await fill(log.directory, {f"{first:020}.log": bytes(content)})

    again = await open_log(world, log.directory, PARTITION, log.config, known=Known(clean=True))

    assert [segment.base_offset for segment in again.segments][:2] == [first, second]
    assert again.end_offset == 24
    assert offsets(await read_all(again, 2)) == list(range(2, 24))
    assert await content_of(log.directory, f"{first:020}.log") == content
    assert "damaged batch kept" in caplog.text


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("at", [0, 3])
async def test_an_offset_that_no_segment_can_hold_is_damage(autojump_clock, world, clean, at):
    log = new_log(world, index_interval_bytes=1)
    for _ in range(4):
        append(log, batch())
    await close(log)
    content = bytearray(await content_of(log.directory, f"{0:020}.log"))
    content[len(content) // 4 * 3 + at] ^= 0x20  # of the last batch's offset
    await log.directory.unlink(f"{0:020}.log")
    await fill(log.directory, {f"{0:020}.log": bytes(content)})

    again = await open_log(world, log.directory, PARTITION, log.config, known=Known(clean=clean))

    assert again.end_offset == 3


async def test_a_missing_index_costs_no_segment_behind_a_gap(autojump_clock, world):
    log = new_log(world)
    for base in (0, 10, 20):
        content = batch(2, base_offset=base)
        append_as_follower(log, memoryview(content), headers(content))
        roll(log)
    await close(log)
    await log.directory.unlink(f"{0:020}.index")

    known = Known(clean=True)
    again = await open_log(world, log.directory, PARTITION, log.config, known=known)

    assert offsets(await read_all(again)) == [0, 1, 10, 11, 20, 21]
