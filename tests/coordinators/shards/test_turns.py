"""Busy shards get slices in turn."""

from collections.abc import Iterator

import trio
from attrs import field
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.attributes import define
from trio_kafka.coordinators.shards.turns import ShardTurns
from trio_kafka.scheduling.chunked_work import Steps


@define(eq=False)
class Worker:
    """A shard with so many slices of work."""

    name: str
    slices: int
    turns: ShardTurns
    log: list[str] = field(kw_only=True)

    @property
    def busy(self) -> bool:
        return self.slices > 0

    def go_on(self, ends: float) -> None:
        self.slices -= 1
        self.log.append(self.name)
        if self.slices:
            self.turns.add(self)


def steps(count: int, log: list[str]) -> Steps[None]:
    def run() -> Iterator[None]:
        for _ in range(count):
            log.append("clean-up")
            yield

    yield from run()


async def test_busy_shards_get_slices_in_turn_until_their_work_is_done(
    autojump_clock: MockClock,
) -> None:
    turns, log = ShardTurns(lambda: 0.0), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.run)
        for name, slices in (("a", 3), ("b", 1), ("c", 2)):
            turns.add(Worker(name, slices, turns, log=log))
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert log == ["a", "b", "c", "a", "c", "a"]
    assert turns.busy == 0


async def test_shard_that_is_discarded_or_has_no_work_gets_no_slice(
    autojump_clock: MockClock,
) -> None:
    turns, log = ShardTurns(lambda: 0.0), list[str]()
    idle, discarded, busy = (
        Worker(name, slices, turns, log=log)
        for name, slices in (("idle", 0), ("gone", 1), ("b", 1))
    )
    for worker in (idle, discarded, busy):
        turns.add(worker)
    turns.discard(discarded)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.run)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert log == ["b"]


async def test_clean_ups_take_turns_with_busy_shards(autojump_clock: MockClock) -> None:
    # The clock stands at the end of each slice, so that a clean-up takes one step a turn.
    seconds = iter(range(1000))
    turns, log = ShardTurns(lambda: float(next(seconds))), list[str]()
    turns.clean_up(steps(2, log))
    turns.add(Worker("a", 3, turns, log=log))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.run)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert log == ["a", "clean-up", "a", "clean-up", "a"]
    assert turns.cleanups == 0


async def test_clean_up_is_done_though_no_shard_is_busy(autojump_clock: MockClock) -> None:
    turns, log = ShardTurns(lambda: 0.0), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.run)
        await wait_all_tasks_blocked()
        turns.clean_up(steps(2, log))
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert log == ["clean-up"] * 2
    assert turns.cleanups == 0


def test_clean_ups_are_finished_at_once_at_the_end() -> None:
    turns, log = ShardTurns(lambda: 0.0), list[str]()
    turns.clean_up(steps(2, log))
    turns.clean_up(steps(1, log))

    turns.clean_up_now()

    assert log == ["clean-up"] * 3
    assert turns.cleanups == 0
