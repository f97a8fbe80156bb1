"""Ctrl-C and SIGTERM as the end of a scope, so that a command leaves its group and closes."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import trio

from trio_kafka.attributes import define


@define(eq=False)
class Interrupts:
    """Signals that have come."""

    scope: trio.CancelScope
    is_set: bool = False


@contextmanager
def interruptible() -> Iterator[Interrupts]:
    """Cancel the block at the first SIGINT or SIGTERM; the second SIGINT acts as ever."""
    interrupts = Interrupts(trio.CancelScope())
    token = trio.lowlevel.current_trio_token()

    def stop(number: int, _frame: object) -> None:
        interrupts.is_set = True
        signal.signal(number, previous[number])
        token.run_sync_soon(interrupts.scope.cancel)

    previous = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[int(number)] = signal.signal(number, stop)
    try:
        with interrupts.scope:
            yield interrupts
    finally:
        for restored, handler in previous.items():
            signal.signal(restored, handler)
