"""Pace of all moves together: at most so many bytes a second.

Source: replica.alter.log.dirs.io.max.bytes.per.second.
"""

from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define

UNLIMITED: Final = (1 << 63) - 1
LARGEST: Final = 1 << 20  # bytes of one piece
SMALLEST: Final = 4096
_PIECES_A_SECOND: Final = 10


@define(eq=False)
class Pace:
    """Pace of moves. Bytes are copied first and paid for by waiting; rate: bytes a second."""

    rate: int = UNLIMITED
    waiting: int = field(default=0, init=False)
    _owed: float = field(default=0.0, init=False)
    _since: float = field(default=0.0, init=False)
    _changed: trio.Event = field(factory=trio.Event, init=False)

    @property
    def piece(self) -> int:
        """Bytes to copy at a time, so that the pace is even."""
        return max(min(LARGEST, self.rate // _PIECES_A_SECOND), SMALLEST)

    def set_rate(self, rate: int) -> None:
        """Change the rate; moves that wait follow it at once. 0: they pause."""
        self._settle()
        self.rate = rate
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    async def pay(self, size: int) -> None:
        """Wait until so many bytes are within the rate, together with those before them."""
        await trio.lowlevel.checkpoint()
        self._settle()
        self._owed += size
        self.waiting += 1
        try:
            while (wait_s := self._wait_s()) > 0:
                with trio.move_on_after(wait_s):
                    await self._changed.wait()
                self._settle()
        finally:
            self.waiting -= 1

    def _wait_s(self) -> float:
        if self.rate >= UNLIMITED or self._owed < 1:  # a fraction is an error of rounding
            return 0.0
        return self._owed / self.rate if self.rate > 0 else float("inf")

    def _settle(self) -> None:
        """Take off what the time since the last call has paid. Nothing is saved up."""
        now = trio.current_time()
        paid = self._owed if self.rate >= UNLIMITED else (now - self._since) * self.rate
        self._owed = max(self._owed - paid, 0.0)
        self._since = now
