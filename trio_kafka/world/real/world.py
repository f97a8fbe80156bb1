"""World of a real machine."""

import os
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib.util import find_spec
from typing import TypeVar, TypeVarTuple

import trio

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.protocols import Child, Directory
from trio_kafka.world.real.background_thread import yielding
from trio_kafka.world.real.clock import MachineClock
from trio_kafka.world.real.held_directory import Identity, held_directory, identity_of
from trio_kafka.world.real.network import RealNetwork
from trio_kafka.world.real.storage import RealDirectory, make_directories
from trio_kafka.world.real.volume import Volume
from trio_kafka.world.real.watchdog_thread import run_watchdog_thread
from trio_kafka.world.world import Job, WatchdogThread, WorkerLostError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class RealWorld:
    """See `world.World`.

    clock: that of `trio.run`, if it is ours; None: the machine's clock.
    descriptors: limit of the process; None: that of the system. See `Descriptors`.
    workers: jobs may run in processes. These import the main module of the program again, which a
        script without `if __name__ == "__main__"` does not expect.
    """

    simulated = False

    def __init__(
        self,
        clock: MachineClock | SkippingClock | None = None,
        *,
        descriptors: int | None = None,
        workers: bool = True,
    ) -> None:
        self.clock = clock or MachineClock()
        self._workers = workers
        self.descriptors = Descriptors(descriptors)
        self.network = RealNetwork(self.clock, self.descriptors)
        self.random = random.Random()
        self.random_bytes = os.urandom

    def directory(self, path: str, *, create: bool = False, threads: int = 4) -> Directory:
        if create:
            make_directories(path)
        volume = Volume(self.clock, threads, descriptors=self.descriptors)
        return RealDirectory(volume, path)

    def absolute_path(self, path: str) -> str:
        return os.path.abspath(path)

    async def run_in_thread(self, call: Callable[[*Ts], T], *args: *Ts) -> T:
        with self.clock.working(), trio.CancelScope(shield=True):
            done: T = await trio.to_thread.run_sync(partial(call, *args))
        return done

    async def run_beside(self, call: Callable[[*Ts], T], *args: *Ts) -> T:
        with self.clock.working():
            done: T = await trio.to_thread.run_sync(
                partial(_yield_and_call, call, *args), abandon_on_cancel=True
            )
        return done

    async def run_watchdog_thread(
        self, watch: Callable[[WatchdogThread], None], *, task_status: trio.TaskStatus[None]
    ) -> None:
        await run_watchdog_thread(watch, task_status=task_status)

    @property
    def has_processes(self) -> bool:
        return self._workers and find_spec("trio_parallel") is not None

    async def run_in_process(
        self,
        job: Job[*Ts, T],
        path: str,
        *args: *Ts,
    ) -> T:
        import trio_parallel  # noqa: PLC0415 - takes 30 ms, and imports multiprocessing

        identity = identity_of(path)
        with self.clock.working():
            try:
                done: T = await trio_parallel.run_sync(
                    partial(_run_job, job, path, identity, *args), kill_on_cancel=True
                )
            except trio_parallel.BrokenWorkerError as error:
                raise WorkerLostError(f"the worker process for {path} has ended") from error
        return done

    def kept_workers(self) -> AbstractAsyncContextManager[None]:
        return _kept_workers(allowed=self._workers)

    async def start_child(
        self, command: Sequence[str], *, environment: Mapping[str, str], directory: str
    ) -> Child:
        from trio_kafka.world.real.child import start_child  # noqa: PLC0415 - rarely needed

        return await start_child(command, environment=environment, directory=directory)


@asynccontextmanager
async def _kept_workers(*, allowed: bool) -> AsyncIterator[None]:
    if not allowed:
        raise ImportError("no worker processes in a program that embeds a broker")
    import trio_parallel  # noqa: PLC0415 - as above

    async with trio_parallel.cache_scope():
        yield


def _yield_and_call(call: Callable[[*Ts], T], *args: *Ts) -> T:
    with yielding():
        return call(*args)


def _run_job(
    job: Job[*Ts, T],
    path: str,
    identity: Identity,
    *args: *Ts,
) -> T:
    """Run a job to its end in a worker process, where reads may block."""
    volume = Volume(MachineClock(), 1, blocking=True)
    with held_directory(volume, path, identity) as directory:
        steps = job(directory, *args)
        started = time.monotonic()
        while True:
            try:
                due_s = next(steps)
            except StopIteration as stop:
                result: T = stop.value
                return result
            if due_s is not None:
                time.sleep(max(started + due_s - time.monotonic(), 0.0))
