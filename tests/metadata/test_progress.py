"""An offset that grows, and who waits for it."""

import pytest
import trio

from trio_kafka.metadata.progress import Progress


async def test_wait_for_progress_ends_when_the_value_is_reached(autojump_clock) -> None:
    progress = Progress()
    reached: list[int] = []

    async def wait(value: int) -> None:
        await progress.wait(value)
        reached.append(value)

    async with trio.open_nursery() as nursery:
        for value in (3, 1, 2):
            nursery.start_soon(wait, value)
        await trio.testing.wait_all_tasks_blocked()
        progress.advance(2)
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(reached) == [1, 2]
        progress.advance(1)
        progress.advance(9)

    assert sorted(reached) == [1, 2, 3]
    await progress.wait(9)


async def test_wait_for_a_later_value_raises_the_error_of_failed_progress() -> None:
    progress = Progress(5)
    progress.fail(ValueError("lost"))

    await progress.wait(5)
    with pytest.raises(ValueError, match="lost"):
        await progress.wait(6)
