from struct import Struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.kit import content_of, fill
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import run_in_threads, run_now
from trio_kafka.log.index.entries import CorruptIndexError, EntryFile
from trio_kafka.testing.simulation import run_simulated

PAIR = Struct(">II")


def packed(*pairs):
    return b"".join(PAIR.pack(*pair) for pair in pairs)


async def sealed(world, content, name="e"):
    root = world.directory("/data", create=True)
    await fill(root, {name: content})
    return EntryFile(root, name, PAIR, sealed=True)


async def test_entries_of_a_growing_index_are_found_in_memory(autojump_clock, world):
    entries = EntryFile(world.directory("/data", create=True), "e", PAIR, sealed=False)
    assert run_now(entries.lookup(5)) is None

    for key in range(10, 100, 10):
        entries.append(key, key * 2)

    assert run_now(entries.lookup(9)) is None
    assert run_now(entries.lookup(10)) == (10, 20)
    assert run_now(entries.lookup(59)) == (50, 100)
    assert entries.last == (90, 180)


async def test_a_sealed_index_reads_one_page_for_a_lookup(autojump_clock, world):
    pairs = [(key, key + 1) for key in range(1, 5000, 3)]
    entries = await sealed(world, packed(*pairs))
    assert await run_in_threads(entries.lookup(2)) == (1, 2)
    world.universe.trace.clear()

    assert run_now(entries.lookup(4000)) == (4000, 4001)

    assert len(world.universe.trace) == 1


async def test_zeros_at_the_end_of_an_index_are_not_entries(autojump_clock, world):
    entries = await sealed(world, packed((5, 256), (7, 1 << 24)) + bytes(8 * 3000))

    assert await run_in_threads(entries.lookup(1 << 31)) == (7, 1 << 24)
    assert entries.count == 2


@pytest.mark.parametrize("content", [b"1234567", packed(*[(9, 1)] * 600), packed((9, 1), (5, 2))])
async def test_index_of_wrong_size_or_order_is_corrupt(autojump_clock, world, content):
    entries = await sealed(world, content)

    with pytest.raises(CorruptIndexError):
        await run_in_threads(entries.load())


@pytest.mark.parametrize("content", [b"1234567", packed((9, 1)) + b"1", packed((9, 1), (5, 2))])
async def test_a_corrupt_index_does_not_grow_again(autojump_clock, world, content):
    entries = await sealed(world, content)

    with pytest.raises(CorruptIndexError):
        await run_in_threads(entries.grow())


async def test_written_index_has_the_same_entries_when_read_again(autojump_clock, world):
    root = world.directory("/data", create=True)
    await fill(root, {"e": b"old and longer than what is written"})
    entries = EntryFile(root, "e", PAIR, sealed=False)
    for key in range(1, 2000):
        entries.append(key, key)
    run_now(entries.write())
    await entries.sync()
    entries.seal()

    assert await content_of(root, "e") == packed(*[(key, key) for key in range(1, 2000)])
    assert run_now(entries.lookup(1700)) == (1700, 1700)
    entries.close()
    assert await run_in_threads(entries.lookup(3)) == (3, 3)


async def test_a_sealed_index_can_grow_again(autojump_clock, world):
    entries = await sealed(world, packed(*[(key, key) for key in range(1, 2000)]))

    await run_in_threads(entries.grow())
    entries.cut(entries.position_of(1500))
    entries.append(1600, 7)

    assert (entries.count, entries.last) == (1500, (1600, 7))
    assert run_now(entries.lookup(1599)) == (1499, 1499)


@given(st.lists(st.integers(1, 10_000), unique=True, max_size=1500), st.integers(0, 11_000))
def test_lookup_finds_the_same_entry_as_a_scan(keys, target):
    pairs = [(key, key * 3) for key in sorted(keys)]

    async def main(universe):
        world = universe.machine("m")
        return await run_in_threads((await sealed(world, packed(*pairs))).lookup(target))

    below = [pair for pair in pairs if pair[0] <= target]
    assert run_simulated(main) == (below[-1] if below else None)


async def test_lookup_in_a_large_index_opens_its_closed_file_again(autojump_clock, world):
    root, files = world.directory("/data", create=True), OpenFiles(1)
    entries = EntryFile(root, "a.index", PAIR, sealed=False, files=files)
    for number in range(2000):
        entries.append(2 * number, number)
    run_now(entries.write())
    entries.seal()
    await entries.sync()
    entries.settle()
    assert files.figures()["open"] == 0
    assert await run_in_threads(entries.lookup(3001)) == (3000, 1500)
    root.create("other").close()

    files.get("other", root, "other")

    assert files.evicted == 1
    assert entries.loaded
    assert run_now(entries.lookup(2001)) == (2000, 1000)


async def test_small_index_keeps_no_file_open_after_a_lookup(autojump_clock, world):
    root, files = world.directory("/data", create=True), OpenFiles()
    entries = EntryFile(root, "a.index", PAIR, sealed=False)
    entries.append(1, 2)
    run_now(entries.write())

    sealed = EntryFile(root, "a.index", PAIR, sealed=True, files=files)

    assert await run_in_threads(sealed.lookup(1)) == (1, 2)
    assert files.figures()["open"] == 0


async def test_index_in_memory_keeps_no_file_open(autojump_clock, world):
    root, files = world.directory("/data", create=True), OpenFiles()
    entries = EntryFile(root, "a.index", PAIR, sealed=False, files=files)
    for number in range(2000):
        entries.append(2 * number, number)
    run_now(entries.write())
    again = EntryFile(root, "a.index", PAIR, sealed=True, files=files)
    opened = world.descriptors.files
    await run_in_threads(again.grow())
    assert files.figures()["open"] == 0

    again.append(5000, 1)
    run_now(again.write())

    assert files.figures()["open"] == 0
    assert world.descriptors.files == opened + 1


@pytest.mark.parametrize("change", ["nothing", "append", "cut", "reset"])
async def test_only_an_index_that_has_changed_is_written_again(autojump_clock, world, change):
    entries = await sealed(world, packed((5, 1), (7, 2)))
    await run_in_threads(entries.grow())
    run_now(entries.write())
    world.universe.trace.clear()

    match change:
        case "append":
            entries.append(9, 3)
        case "cut":
            entries.cut(1)
        case "reset":
            entries.reset()
    run_now(entries.write())

    wrote = [line for line in world.universe.trace if " open " in line or " create " in line]
    assert bool(wrote) is (change != "nothing")


@given(st.integers(0, 1400), st.integers(0, 9000))
def test_lookup_of_a_value_finds_the_same_entry_as_a_scan(count, value):
    pairs = [(number, number * 6 + number % 5) for number in range(1, count + 1)]

    async def main(universe):
        world = universe.machine("m")
        return await run_in_threads((await sealed(world, packed(*pairs))).lookup_value(value))

    expected = next((pair for pair in pairs if pair[1] >= value), None)
    assert run_simulated(main) == expected
