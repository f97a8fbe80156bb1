"""Python that runs in a thread beside the loop's.

Who waits for the interpreter's lock gets it after the switch interval, 5 ms as Python starts; and a
loop waits for it after each system call that gave it up, many times in a pass. So the interval is
short as long as such a thread runs.
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
    """Whoever waits for the interpreter's lock gets it soon, while the block runs in any thread."""
    global _running, _usual_s  # noqa: PLW0603 - the interval is of the process, and so is this
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
