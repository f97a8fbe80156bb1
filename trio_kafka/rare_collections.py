"""Garbage is collected rarely while many modules are imported."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Imported modules stay: collecting their objects again with each generation is a fifth of the
# first start in a process. The youngest generation is still collected, since every attrs class
# leaves one class behind as garbage.
_THRESHOLDS: Final = (5000, 1000, 1000)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage rarely during the block, in the whole process."""
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
