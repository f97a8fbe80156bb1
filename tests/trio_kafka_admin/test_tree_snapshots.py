"""TreeSnapshots that all who ask share."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.introspect.snapshots import TreeSnapshot
from trio_kafka_admin.tree_snapshots import (
    FRESH_S,
    PAIR_S,
    STALE_S,
    WINDOW_S,
    TreeSnapshots,
)


class Reader:
    """Reads for a tenth of a second; `fails` are the errors of the next reads."""

    def __init__(self) -> None:
        self.reads = 0
        self.fails: list[Exception] = []

    async def __call__(self) -> TreeSnapshot:
        self.reads += 1
        await trio.sleep(0.1)
        if self.fails:
            raise self.fails.pop()
        return TreeSnapshot(trio.current_time(), {})


async def test_second_snapshot_is_compared_with_the_first(autojump_clock: MockClock) -> None:
    looks = TreeSnapshots(Reader())

    before, first = await looks.two()
    await trio.sleep(FRESH_S)
    after = await looks.two()

    assert before is None
    assert after[0] is first
    assert after[1].at > first.at


async def test_snapshots_are_compared_over_a_window_of_10_seconds(
    autojump_clock: MockClock,
) -> None:
    looks = TreeSnapshots(Reader())
    seconds = []
    for _ in range(40):
        before, after = await looks.two()
        seconds.append(0.0 if before is None else after.at - before.at)
        await trio.sleep(FRESH_S)

    spans = [round(second / 1.1, 3) for second in seconds]  # a look comes each 1.1 s
    assert spans[:10] == list(range(10))
    assert set(spans[10:]) == {10.0}
    assert len(looks._kept) <= WINDOW_S / FRESH_S + 2


async def test_stale_snapshot_is_not_compared_with_a_new_snapshot(
    autojump_clock: MockClock,
) -> None:
    looks = TreeSnapshots(Reader())
    _, first = await looks.two()
    await trio.sleep(WINDOW_S * 3)
    before, _ = await looks.two()
    assert before is first
    await trio.sleep(STALE_S + 1)

    assert (await looks.two())[0] is None
    await trio.sleep(FRESH_S)
    before, after = await looks.two()
    assert before is not None
    assert after.at - before.at < 2


async def test_fresh_snapshot_is_reused_without_reading_again(autojump_clock: MockClock) -> None:
    reader = Reader()
    looks = TreeSnapshots(reader)

    first = await looks.two()
    await trio.sleep(FRESH_S / 2)

    assert await looks.two() == first
    assert reader.reads == 1


async def test_concurrent_callers_share_a_single_reading(autojump_clock: MockClock) -> None:
    reader = Reader()
    looks = TreeSnapshots(reader)
    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(looks.two)

    assert reader.reads == 1


async def test_caller_reads_the_tree_after_an_earlier_reading_was_cancelled(
    autojump_clock: MockClock,
) -> None:
    reader = Reader()
    looks = TreeSnapshots(reader)
    _, first = await looks.two()
    await trio.sleep(FRESH_S)
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            nursery.start_soon(cancel_soon, scope)
            await looks.two()
        before, after = await looks.two()

    assert scope.cancelled_caught
    assert (before, reader.reads) == (first, 3)
    assert after.at > first.at


async def cancel_soon(scope: trio.CancelScope) -> None:
    await wait_all_tasks_blocked()
    scope.cancel()


async def test_failed_reading_keeps_the_earlier_snapshots(autojump_clock: MockClock) -> None:
    reader = Reader()
    looks = TreeSnapshots(reader)
    _, first = await looks.two()
    await trio.sleep(FRESH_S)
    reader.fails.append(ValueError("no tree"))

    with pytest.raises(ValueError, match="no tree"):
        await looks.two()

    assert (await looks.two())[0] is first


async def test_first_reader_of_a_pair_waits_for_a_second_snapshot(
    autojump_clock: MockClock,
) -> None:
    reader = Reader()
    looks = TreeSnapshots(reader)

    before, after = await looks.pair()

    assert round(after.at - before.at, 3) == PAIR_S + 0.1  # a look takes 0.1 s
    assert await looks.pair() == (before, after)
    assert reader.reads == 2


async def test_readers_of_a_pair_share_its_two_snapshots(autojump_clock: MockClock) -> None:
    reader = Reader()
    looks = TreeSnapshots(reader)
    pairs = []

    async def read() -> None:
        pairs.append(await looks.pair())

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(read)

    assert reader.reads == 2
    assert all(pair == pairs[0] for pair in pairs)


async def test_pair_after_a_long_time_without_readers_is_read_anew(
    autojump_clock: MockClock,
) -> None:
    looks = TreeSnapshots(Reader())
    _, old = await looks.pair()
    await trio.sleep(STALE_S * 2)

    before, after = await looks.pair()

    assert old.at < before.at < after.at < trio.current_time() + 1
