"""Readings that are computed in steps, with a turn of the loop for other tasks between two."""

from typing import TypeVar

import trio

from trio_kafka.scheduling.chunked_work import Steps, step

T = TypeVar("T")


async def paced(steps: Steps[T]) -> T:
    """Run steps, with a checkpoint before each and after the last; return their result."""
    await trio.lowlevel.checkpoint()
    while (done := step(steps)) is None:
        await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    return done.value
