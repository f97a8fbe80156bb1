"""Latency of appends to a directory: a long wait for the disk makes it slow for a second.

Appends block the loop, so those to a stalling disk go to a thread. There is one DiskLatency for
each directory.
On a busy machine an append also takes long while other processes have the CPU, which a thread would
not change. So the first long append only makes the directory suspect. While it is suspect, the
kernel's count of waits shows whether the next appends wait.
An append in a thread also waits for a token and for the interpreter (5 ms if the loop is busy).
Therefore its limit is higher.
"""

from collections.abc import Callable
from typing import Final, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.log.files.operations import FileWork, run_in_threads
from trio_kafka.log.sync_ledger import SyncLedger
from trio_kafka.scheduling.yield_point import YieldPoint

T = TypeVar("T")
LONG_APPEND_S: Final = 0.005
LONG_IN_THREAD_S: Final = 0.025
SLOW_FOR_S: Final = 1.0
SUSPECT_FOR_S: Final = 2.0
CLOSE_S: Final = 0.0001
_NEVER: Final = float("-inf")


@define(eq=False)
class DiskLatency:
    """Latency of the appends to one directory.

    elapsed: World's clock that is never skipped.
    waits: count of the waits of this thread; None: each long append has waited.
    suspect: call `watch` before the next append.
    yielded_s: time in the yield point, all in all. An append does not count it: appends nest, as
        one task may serve at a yield point of another.
    calm: not slow, and no append is queued.
    queues: number of partitions with queued appends.
    syncs: those of the directory that are under way.
    appending: held during an append in a thread. Two at a time would copy on the core that the loop
        needs, and wait for the same disk.
    """

    elapsed: Callable[[], float]
    _waits: Callable[[], int] | None = None
    yield_point: YieldPoint = field(factory=YieldPoint)
    suspect: bool = field(default=False, init=False)
    _suspect_until: float = field(default=_NEVER, init=False)
    _waited: int | None = field(default=None, init=False)  # count before the watched append
    _watched: float = field(default=_NEVER, init=False)
    yielded_s: float = field(default=0.0, init=False)
    appending: trio.Lock = field(factory=trio.Lock, init=False)
    calm: bool = field(default=True, init=False)
    queues: int = field(default=0, init=False)
    long_appends: int = field(default=0, init=False)
    longest_s: float = field(default=0.0, init=False)
    syncs: SyncLedger = field(factory=SyncLedger, init=False)
    slow_until: float = field(default=_NEVER, init=False)

    @property
    def slow(self) -> bool:
        """True for a second after a long append."""
        return self.elapsed() < self.slow_until

    async def run_in_threads(self, append: FileWork[T]) -> T:
        """Perform an append in threads, and note a long one. Shielded."""
        began = self.elapsed()
        with trio.CancelScope(shield=True):
            result = await run_in_threads(append)
        ended = self.elapsed()
        if ended - began > LONG_IN_THREAD_S:
            self.took_long(began, ended)
        return result

    def give_way(self) -> None:
        """Call the yield point during an append. Its time is not counted as the append's."""
        begin = self.elapsed()
        self.yield_point()
        self.yielded_s += self.elapsed() - begin

    def watch(self) -> None:
        """Note the count of waits before an append to a suspect directory.

        Between appends in quick succession the loop has not waited, so the count is taken once for
        them.
        """
        now = self.elapsed()
        if self._waits is None or now >= self._suspect_until:
            self.suspect = False
            self._waited = None
        elif self._waited is None or now - self._watched > CLOSE_S:
            self._waited = self._waits()
        self._watched = now

    def held_up(self, began: float, ended: float) -> None:
        """Note an append that held the loop for longer than LONG_APPEND_S."""
        waits = self._waits
        if waits is None or (self._waited is not None and waits() != self._waited):
            self.took_long(began, ended)
        else:
            self.suspect = True
            self._suspect_until = ended + SUSPECT_FOR_S

    def took_long(self, began: float, ended: float) -> None:
        """Note an append that waited for longer than LONG_APPEND_S, or LONG_IN_THREAD_S."""
        self.calm = False
        self.long_appends += 1
        self.longest_s = max(self.longest_s, ended - began)
        self.slow_until = ended + SLOW_FOR_S

    def calm_down(self) -> None:
        """Set `calm` again if the directory is fast and no append is queued."""
        self.calm = not (self.queues or self.slow)
