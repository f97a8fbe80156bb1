"""Steps that an async function takes."""

import trio

from trio_kafka.scheduling.chunked_task import in_steps
from trio_kafka.scheduling.chunked_work import Steps


async def test_other_tasks_run_after_each_step() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    def work() -> Steps[list[int]]:
        seen = []
        for _ in range(20):
            yield
            seen.append(turns)
        return seen

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)

        seen = await in_steps(work())

        nursery.cancel_scope.cancel()
    # Trio runs the tasks of one pass in any order, so two steps may see the same number.
    assert len(set(seen)) > 10
