"""The thread that watches the loop from outside: it rests, and checks the loop at intervals.

The kernel's `schedstat` says how long the thread of the loop was runnable without a processor; 0
where that is missing. Source: Documentation/scheduler/sched-stats of Linux.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Final

import trio

_NANO: Final = 1e-9


class RealWatchdogThread:
    """See `world.WatchdogThread`. Make it in the thread that is watched."""

    def __init__(self) -> None:
        self._watched = threading.get_ident()
        self._bell: SimpleQueue[None] = SimpleQueue()  # `ring` never waits for a lock
        self._ended = False
        self._statistics = _open_statistics()
        self.ring: Callable[[], None] = self._ring

    def rest(self, seconds: float | None) -> bool:
        with contextlib.suppress(Empty):
            self._bell.get(timeout=seconds)
        return not self._ended

    def frame(self) -> FrameType | None:
        return sys._current_frames().get(self._watched)  # noqa: SLF001 - there is no other way

    def starved_s(self) -> float:
        if self._statistics is None:
            return 0.0
        return int(os.pread(self._statistics, 100, 0).split()[1]) * _NANO

    def _ring(self) -> None:
        self._bell.put(None)

    def end(self) -> None:
        """Make `rest` return False from now on."""
        self._ended = True
        self._ring()

    def close(self) -> None:
        """Close the statistics; call it when the thread has ended. Idempotent."""
        opened, self._statistics = self._statistics, None
        if opened is not None:
            os.close(opened)


async def run_watchdog_thread(
    watch: Callable[[RealWatchdogThread], None], *, task_status: trio.TaskStatus[None]
) -> None:
    """See `World.run_watchdog_thread`. Waits for the end of the thread."""
    thread = RealWatchdogThread()
    limiter = trio.CapacityLimiter(1)  # so it takes no thread of the default limiter

    def begin() -> None:
        trio.from_thread.run_sync(task_status.started)
        watch(thread)

    async def run() -> None:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(begin, limiter=limiter)

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, name="watchdog-thread")
            try:
                await trio.sleep_forever()
            finally:
                thread.end()
    finally:
        thread.close()


def _open_statistics() -> int | None:
    path = f"/proc/self/task/{threading.get_native_id()}/schedstat"
    try:
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # not Linux, or a kernel without schedstat
        return None
    if len(os.pread(opened, 100, 0).split()) != 3:
        os.close(opened)
        return None
    return opened
