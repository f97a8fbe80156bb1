"""A run of the cleaner: in a worker process, or in slices of the loop.

A worker process (extra `[workers]`) costs the loop nothing, and may be killed at any moment: its
new files are removed, and the log is as before. Without the extra, and in simulations, the same
steps run in the loop, a millisecond at a time; reads and codecs go to threads.

`log.cleaner.io.max.bytes.per.second` bounds what a run has read and written since its start.
"""

from collections.abc import Generator
from importlib.util import find_spec
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.log.cleaner.cleaning import clean
from trio_kafka.log.cleaner.job import (
    Cleaning,
    CleaningJob,
    CleaningResult,
    Compute,
    Pause,
    due_s,
    in_worker,
)
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import World

_COLUMNAR: Final = ("numpy", "pyarrow")


@define
class Progress:
    """Progress of a run in slices. A worker process reports none: the figures stay 0."""

    moved: int = field(default=0, init=False)
    offset: int = field(default=0, init=False)
    indexing: bool = field(default=True, init=False)
    throttled_s: float = field(default=0.0, init=False)

    def note(self, pause: Pause) -> None:
        """Note a pause of the run."""
        self.moved += pause.moved
        self.offset, self.indexing = pause.offset, pause.indexing


def has_columnar() -> bool:
    """Return whether a worker process can use numpy and pyarrow."""
    return all(find_spec(name) is not None for name in _COLUMNAR)


async def run_job(
    world: World,
    directory: Directory,
    job: CleaningJob,
    *,
    bytes_per_second: float | None,
    progress: Progress,
) -> CleaningResult:
    """Run a job. CleaningError, OSError; WorkerLostError if its process was killed."""
    if world.has_processes:
        return await world.run_in_process(_work, directory.path, job, bytes_per_second)
    run = clean(directory, job)
    try:
        return await _run_in_slices(world, run, bytes_per_second, progress=progress)
    finally:
        run.close()


async def _run_in_slices(
    world: World, run: Cleaning, bytes_per_second: float | None, *, progress: Progress
) -> CleaningResult:
    started = trio.current_time()
    result: object = None
    failure: Exception | None = None
    while True:
        try:
            step = run.throw(failure) if failure else run.send(result)
        except StopIteration as stop:
            cleaned: CleaningResult = stop.value
            return cleaned
        result = failure = None
        if isinstance(step, Pause):
            progress.note(step)
            due = due_s(progress.moved, bytes_per_second) or 0.0
            wait_s = max(started + due - trio.current_time(), 0.0)
            progress.throttled_s += wait_s
            await trio.sleep(wait_s)
            continue
        try:
            if isinstance(step, Compute):
                result = await world.run_in_thread(step.call)
            else:
                result = await step.in_thread()
        except Exception as error:  # noqa: BLE001 - the run cleans up, and raises it
            failure = error


def _work(
    directory: Directory, job: CleaningJob, bytes_per_second: float | None
) -> Generator[float | None, None, CleaningResult]:
    """Run a job in a worker process."""
    return in_worker(clean(directory, job), bytes_per_second)
