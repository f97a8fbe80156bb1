"""Background threads that run Python code beside the loop.

A thread that waits for the interpreter's lock gets it after the switch interval, 5 ms by default.
The loop waits for it after each system call that released it, many times a pass. So the interval is
short while such a thread runs.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SHORT_S: Final = 0.0002
_LOCK: Final = threading.Lock()
_running = 0
_usual_s = 0.0


@contextmanager
def yielding() -> Iterator[None]:
    """Shorten the switch interval while the block runs in any thread."""
    global _running, _usual_s  # noqa: PLW0603 - the interval belongs to the process
    with _LOCK:
        if not _running:
            _usual_s = sys.getswitchinterval()
            sys.setswitchinterval(min(_usual_s, SHORT_S))
        _running += 1
    try:
        yield
    finally:
        with _LOCK:
            _running -= 1
            if not _running:
                sys.setswitchinterval(_usual_s)
