from trio_kafka.log.files.operations import run_now
from trio_kafka.log.index.entries import EntryFile
from trio_kafka.log.index.offset import ENTRY, OffsetIndex


def index(world):
    entries = EntryFile(world.directory("/data", create=True), "e", ENTRY, sealed=False)
    offsets = OffsetIndex(1000, entries)
    for number in range(1, 6):
        offsets.append(1000 + 10 * number, 100 * number)
    return offsets


async def test_offset_index_returns_the_last_entry_at_or_below_the_offset(autojump_clock, world):
    offsets = index(world)

    result = [run_now(offsets.position(offset)) for offset in (1000, 1009, 1010, 1029, 9999)]

    assert result == [0, 0, 100, 200, 500]
    assert offsets.last == (1050, 500)


async def test_cut_removes_entries_at_or_above_its_offset(autojump_clock, world):
    offsets = index(world)

    offsets.cut(1030)

    assert offsets.last == (1020, 200)


async def test_offset_index_is_full_when_no_entry_fits(autojump_clock, world):
    offsets = index(world)

    assert offsets.is_full(47)
    assert not offsets.is_full(48)


async def test_offset_index_bounds_the_offsets_before_a_position(autojump_clock, world):
    offsets = index(world)

    bounds = [run_now(offsets.bound_behind(position)) for position in (0, 100, 101, 500, 501)]

    assert bounds == [1010, 1010, 1020, 1050, None]
