"""Work in steps, taken by an async function: other tasks run after each step."""

from typing import TypeVar

import trio

from trio_kafka.scheduling.chunked_work import Steps, step

T = TypeVar("T")


async def in_steps(steps: Steps[T]) -> T:
    """Take steps to their end and return their result. Raises what they raise."""
    while (done := step(steps)) is None:
        await trio.lowlevel.checkpoint()
    return done.value
