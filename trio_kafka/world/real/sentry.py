"""A thread that watches the loop from outside: it rests, and looks now and then.

How long the loop's thread was ready to run but had no processor is the kernel's to tell, in
`schedstat`; where it does not, that is never. Source: Documentation/scheduler/sched-stats of Linux.
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


class RealSentry:
    """See `world.Sentry`. Made in the thread that is watched."""

    def __init__(self) -> None:
        self._watched = threading.get_ident()
        self._bell: SimpleQueue[None] = SimpleQueue()  # whoever rings never waits for a lock
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
        """Let `rest` say no from now on."""
        self._ended = True
        self._ring()

    def close(self) -> None:
        """When the thread has ended."""
        if self._statistics is not None:
            os.close(self._statistics)


async def run_sentry(
    watch: Callable[[RealSentry], None], *, task_status: trio.TaskStatus[None]
) -> None:
    """Run `watch` in a thread of its own until cancelled, and wait for its end; started when it
    runs.
    """
    sentry = RealSentry()
    limiter = trio.CapacityLimiter(1)  # of its own: it takes nobody's thread

    def begin() -> None:
        trio.from_thread.run_sync(task_status.started)
        watch(sentry)

    async def run() -> None:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(begin, limiter=limiter)

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, name="sentry")
            try:
                await trio.sleep_forever()
            finally:
                sentry.end()
    finally:
        sentry.close()


def _open_statistics() -> int | None:
    path = f"/proc/self/task/{threading.get_native_id()}/schedstat"
    try:
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # no Linux, or a kernel that does not tell
        return None
    if len(os.pread(opened, 100, 0).split()) != 3:
        os.close(opened)
        return None
    return opened
