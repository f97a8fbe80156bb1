"""Growth of this process over a long run: memory blocks, objects, and resident bytes."""

import gc
import resource
import sys
from collections.abc import Awaitable, Callable

from attrs import frozen

_MIB = 1 << 20
_PARTS = 5  # the first of which fills caches and pools


@frozen
class Kept:
    """Memory of the process. blocks: of Python's allocator, which texts and bytes have too."""

    blocks: int
    objects: int
    resident: int

    @classmethod
    def now(cls) -> "Kept":
        gc.collect()
        with open("/proc/self/statm") as file:
            resident = int(file.read().split()[1]) * resource.getpagesize()
        return cls(sys.getallocatedblocks(), len(gc.get_objects()), resident)


async def check_flat(streams: int, attack: Callable[[int], Awaitable[None]]) -> None:
    """Run `attack(count)` for all streams; assert that nothing is kept of four fifths of them.

    The bounds do not depend on how many these are. The figures are printed (`pytest -s`).
    """
    first = streams // _PARTS
    await attack(first)
    before = Kept.now()
    await attack(streams - first)
    after = Kept.now()
    print(f"\n{streams} streams; after {first}: {before}; at the end: {after}")
    assert after.objects - before.objects < 1000
    assert after.blocks - before.blocks < 4000
    assert after.resident - before.resident < 16 * _MIB
