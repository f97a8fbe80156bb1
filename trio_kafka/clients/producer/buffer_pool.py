"""Memory of the records that are not acknowledged (`buffer.memory`). Does no I/O.

Waits are granted in the order in which they came: a large one at the head is not overtaken by small
ones, or it would wait forever. A wait is granted by a call of its function.
"""

from collections import deque
from collections.abc import Callable, Mapping

from attrs import field

from trio_kafka import held
from trio_kafka.attributes import define


@define(eq=False)
class MemoryWait:
    """A wait for memory. granted: True once it has the memory. See `BufferPool.wait`."""

    size: int
    grant: Callable[[], None]
    granted: bool = field(default=False, init=False)


@define(eq=False)
class BufferPool:
    """Counts bytes. total: all there are. free: not taken, and not granted to a wait."""

    total: int
    free: int = field(init=False)
    _waits: deque[MemoryWait] = field(factory=deque, init=False)

    def __attrs_post_init__(self) -> None:
        self.free = self.total
        held.opened(self)

    @property
    def waiting(self) -> int:
        """Number of waits."""
        return len(self._waits)

    def try_take(self, size: int) -> bool:
        """Take memory, unless it is not free or others wait; return whether it was taken."""
        if self._waits or size > self.free:
            return False
        self.free -= size
        return True

    def wait(self, size: int, grant: Callable[[], None]) -> MemoryWait:
        """Queue for memory. grant: called once it is taken; not if that is the case at once.

        Raises ValueError for more than there is in all.
        """
        if size > self.total:
            raise ValueError(f"{size} bytes of a memory of {self.total}")
        wait = MemoryWait(size, grant)
        if self.try_take(size):
            wait.granted = True
        else:
            self._waits.append(wait)
        return wait

    def withdraw(self, wait: MemoryWait) -> None:
        """End a wait without using its memory."""
        if wait.granted:
            self.give_back(wait.size)
        else:
            self._waits.remove(wait)
            self._grant()

    def give_back(self, size: int) -> None:
        """Give back memory that was taken."""
        self.free += size
        if self.free > self.total:
            raise ValueError(f"{self.free} bytes free of {self.total}")
        self._grant()

    def still_held(self) -> Mapping[str, int]:
        """Return what is taken. See `held.Ledger`."""
        return {"bytes of producer memory": self.total - self.free, "waits": len(self._waits)}

    def _grant(self) -> None:
        while self._waits and self._waits[0].size <= self.free:
            wait = self._waits.popleft()
            self.free -= wait.size
            wait.granted = True
            wait.grant()
