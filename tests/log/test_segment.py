import pytest

from tests.log.kit import append, batch, content_of, fill, header, headers, new_log
from trio_kafka.errors import InvariantError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.files.operations import run_in_threads, run_now
from trio_kafka.log.segment import Segment


def filled(world, count=300, interval=200):
    """One segment that begins with 1000; the times of its batches go up and down."""
    segment = run_now(Segment.create(world.directory("/data", create=True), 1000, 0))
    for number in range(count):
        content = batch(base_offset=1000 + number, timestamp=100 + (number * 7) % 50)
        position = segment.write(content, None)
        segment.wrote(position, header(content), interval)
    return segment


async def test_index_entry_is_added_for_each_interval_of_bytes(autojump_clock, world):
    segment = filled(world, count=10, interval=200)
    size = len(batch())

    assert size * 2 < 200 < size * 3
    assert segment.offsets.entries.count == 3
    assert segment.offsets.last == (1009, 9 * size)


async def test_file_that_does_not_end_behind_an_append_breaks_the_invariant(autojump_clock, world):
    segment = filled(world, count=1)
    content = batch(base_offset=1001)
    position = segment.write(content, None)

    with pytest.raises(InvariantError, match=rf"want {position + 1} after"):
        segment.check_end(position + 1)

    segment.check_end(position + len(content))


async def test_every_offset_is_found_in_a_growing_and_in_a_sealed_segment(autojump_clock, world):
    segment = filled(world)
    size = len(batch())
    for sealed in (False, True):
        for offset in range(1000, 1300):
            spot = await run_in_threads(segment.find(offset))
            assert spot == ((offset - 1000) * size, size, offset, offset)
        assert await run_in_threads(segment.find(1300)) is None
        if not sealed:
            assert segment.find_recent(1299) is not None
            assert segment.find_recent(1000) is None
            run_now(segment.write_indexes())
            segment.seal()
            segment.close()


async def test_records_and_timestamps_are_found_despite_corrupt_indexes(autojump_clock, world):
    segment = filled(world)
    run_now(segment.write_indexes())
    segment.seal()
    segment.close()
    for name in ("00000000000000001000.index", "00000000000000001000.timeindex"):
        file = segment.directory.open(name)
        file.truncate(7)
        file.close()
    again = Segment.open(segment.directory, 1000, 0)

    spot = await run_in_threads(again.find(1250))
    await run_in_threads(again.load_timestamps())

    assert spot.base_offset == 1250
    assert again.max_timestamp == 149


async def test_record_is_found_despite_an_index_entry_inside_a_batch(autojump_clock, world):
    segment = filled(world)
    segment.offsets.entries.reset()
    segment.offsets.append(1200, 77)
    segment._recent.clear()

    assert run_now(segment.find(1250)).base_offset == 1250


def sealed(segment):
    run_now(segment.write_indexes())
    segment.seal()
    segment.close()
    return Segment.open(segment.directory, 1000, 0)


async def rewrite(segment, suffix, change):
    name = f"{1000:020}{suffix}"
    content = change(await content_of(segment.directory, name))
    await segment.directory.unlink(name)
    await fill(segment.directory, {name: content})


@pytest.mark.parametrize("change", [lambda _: b"", lambda index: bytes(len(index))])
async def test_offset_index_without_entries_is_rebuilt_once(
    autojump_clock, world, caplog, monkeypatch, change
):
    monkeypatch.setattr("trio_kafka.log.segment.BULK", 1000)
    again = sealed(filled(world))
    await rewrite(again, ".index", change)

    for offset in (1250, 1020, 1299):
        assert (await run_in_threads(again.find(offset))).base_offset == offset

    assert again.offsets.entries.count == 5
    assert caplog.text.count("offset index rebuilt in memory") == 1


async def test_index_entry_that_skips_records_is_ignored(autojump_clock, world):
    again = sealed(filled(world))
    await rewrite(again, ".index", lambda index: index[:3] + b"\1" + index[4:])

    for offset in range(1000, 1012):
        assert (await run_in_threads(again.find(offset))).base_offset == offset


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda index: bytes(len(index)),
        lambda index: index[:-12] + b"\x7f" + index[-11:],
        lambda index: index[:-6] + b"\0" + index[-5:],
    ],
)
async def test_largest_timestamp_of_the_index_that_no_batch_has_is_ignored(
    autojump_clock, world, change
):
    again = sealed(filled(world))
    await rewrite(again, ".timeindex", change)

    await run_in_threads(again.load_timestamps())

    assert again.max_timestamp == 149


async def test_batch_cut_short_in_a_segment_file_is_logged_once(autojump_clock, world, caplog):
    again = sealed(filled(world))
    await rewrite(again, ".log", lambda log: log[:-1])
    again = Segment.open(again.directory, 1000, 0)

    for _ in range(2):
        assert await run_in_threads(again.find(1299)) is None
    assert (await run_in_threads(again.find(1298))).base_offset == 1298
    assert caplog.text.count("segment file ends within a batch") == 1


async def test_segment_whose_file_is_missing_has_a_size_of_zero(autojump_clock, world, caplog):
    again = sealed(filled(world))
    again.close()
    await again.directory.unlink(f"{1000:020}.log")

    assert again.measure() == again.measure() == 0
    assert caplog.text.count("segment file truncated by another program") == 1


async def test_sealed_segment_reads_its_largest_timestamp_from_the_time_index(
    autojump_clock, world
):
    segment = filled(world)
    run_now(segment.write_indexes())
    segment.seal()
    again = Segment.open(segment.directory, 1000, 0)
    assert again.max_timestamp == -1

    await run_in_threads(again.load_timestamps())

    assert (again.max_timestamp, again.max_timestamp_offset) == (149, segment.max_timestamp_offset)


async def test_segment_that_grows_again_has_its_timestamps_and_index_entries(autojump_clock, world):
    segment = filled(world)
    run_now(segment.write_indexes())
    segment.seal()
    again = Segment.open(segment.directory, 1000, 0)

    await run_in_threads(again.grow_again())

    assert again.rolling_timestamp == segment.rolling_timestamp == 100
    assert again.max_timestamp == segment.max_timestamp
    assert again.offsets.last == segment.offsets.last


async def test_an_empty_segment_does_not_roll_by_age(autojump_clock, world):
    segment = filled(world, count=0)
    late = batch(timestamp=1 << 50)

    assert not segment.should_roll(LogConfig(), 0, 1 << 50, records=late, headers=headers(late))


async def test_jitter_lets_a_segment_roll_earlier(autojump_clock, world):
    segment = filled(world, count=1)
    config = LogConfig(segment_ms=1000)
    later = batch(timestamp=1000)

    assert not segment.should_roll(config, 0, 100, records=later, headers=headers(later))
    assert segment.should_roll(config, 101, 100, records=later, headers=headers(later))


@pytest.mark.parametrize(("now_ms", "rolls"), [(0, False), (99, False), (100, True), (-1, True)])
async def test_segment_younger_than_a_tenth_of_a_second_is_not_rolled_by_age(
    autojump_clock, world, now_ms, rolls
):
    segment = filled(world, count=1)
    later = batch(timestamp=1 << 40)

    assert (
        segment.should_roll(
            LogConfig(segment_ms=1), 0, now_ms, records=later, headers=headers(later)
        )
        is rolls
    )


async def test_segment_with_a_name_suffix_is_read_and_renamed(autojump_clock, world):
    log = new_log(world, segment_bytes=260, index_interval_bytes=1)
    for _ in range(6):
        append(log, batch(size=50, timestamp=log.now_ms()))
    await sync(log)
    first = log.segments.first
    first.close()
    first.rename_indexes(".x")
    first.rename_file(".x")
    folder = log.directory

    result = Segment.open(folder, 0, 0, suffix=".x")
    run_now(result.load_timestamps())
    names = [name for name in folder.names() if name.startswith(f"{0:020}")]
    result.rename_indexes("")
    result.rename_file("")

    assert names == [f"{0:020}{kind}.x" for kind in (".index", ".log", ".timeindex")]
    assert run_now(result.find(1)).base_offset == 1
    assert run_now(result.index_sizes()) == (8, 12)
    assert folder.exists(f"{0:020}.log")
    assert not folder.exists(f"{0:020}.index.x")
