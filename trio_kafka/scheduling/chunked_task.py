"""Chunked work in a task. Apart from `chunked_work`, which sans-IO packages import."""

from typing import TypeVar

import trio

from trio_kafka.scheduling.chunked_work import Steps, step

T = TypeVar("T")


async def in_steps(steps: Steps[T]) -> T:
    """Run steps to their end, with a checkpoint after each; return their result."""
    while (done := step(steps)) is None:
        await trio.lowlevel.checkpoint()
    return done.value
