"""Steps with a turn of the loop between two."""

import trio
from trio.testing import MockClock

from trio_kafka.plugin_host.paced_steps import paced
from trio_kafka.scheduling.chunked_work import Steps


def three_steps() -> Steps[str]:
    yield
    yield
    return "result"


async def test_other_tasks_have_a_turn_before_each_step(autojump_clock: MockClock) -> None:
    turns = 0
    results = list[str]()

    async def run() -> None:
        results.append(await paced(three_steps()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        while not results:
            turns += 1
            await trio.lowlevel.checkpoint()

    assert results == ["result"]
    assert turns >= 3


async def test_cancelled_reading_ends_its_steps(autojump_clock: MockClock) -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        await paced(three_steps())

    assert scope.cancelled_caught
