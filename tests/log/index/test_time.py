from trio_kafka.log.files.operations import run_now
from trio_kafka.log.index.entries import EntryFile
from trio_kafka.log.index.time import ENTRY, TimeIndex


def index(world):
    entries = EntryFile(world.directory("/data", create=True), "e", ENTRY, sealed=False)
    times = TimeIndex(1000, entries)
    for timestamp, offset in ((50, 1003), (50, 1009), (70, 1010), (60, 1015), (90, 1020)):
        times.append_larger(timestamp, offset)
    return times


async def test_time_index_takes_only_timestamps_larger_than_the_last(autojump_clock, world):
    times = index(world)

    assert times.entries.count == 3
    assert times.last == (90, 1020)


async def test_offset_before_is_the_last_entry_with_a_smaller_timestamp(autojump_clock, world):
    times = index(world)

    result = [run_now(times.offset_before(timestamp)) for timestamp in (0, 50, 51, 70, 71, 999)]

    assert result == [1000, 1000, 1003, 1003, 1010, 1020]


async def test_cut_removes_entries_at_or_above_its_offset(autojump_clock, world):
    times = index(world)

    times.cut(1010)
    assert times.last == (50, 1003)
    times.cut(0)

    assert times.last == (-1, 1000)


async def test_time_index_is_full_when_only_the_last_entry_fits(autojump_clock, world):
    times = index(world)

    assert times.is_full(4 * 12)
    assert not times.is_full(5 * 12)
