"""Volume: what all files opened through one `World.directory` share, such as threads.

The first opened file decides whether `preadv(RWF_NOWAIT)` is possible.
"""

import errno
import os
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar, TypeVarTuple

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.descriptors import Descriptors, is_exhausted
from trio_kafka.world.real.clock import MachineClock
from trio_kafka.world.recent_writes import Writes

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_CLOSED: Final = 8  # idle files that are closed at once; one would do for this call


@define(eq=False)
class Volume:
    """Shared state of files.

    nowait: whether reads support RWF_NOWAIT; None: unknown yet. blocking: reads may block.
    """

    clock: MachineClock | SkippingClock
    limiter: trio.CapacityLimiter = field(converter=trio.CapacityLimiter)  # of threads
    _nowait: bool | None = field(default=None, kw_only=True)
    blocking: bool = field(default=False, kw_only=True)
    descriptors: Descriptors = field(factory=Descriptors, kw_only=True)
    writes: Writes = field(factory=Writes, init=False)

    def can_refuse(self, fd: int) -> bool:
        """Return whether files support RWF_NOWAIT."""
        if self._nowait is None:
            self._nowait = _takes_nowait(fd)
        return self._nowait

    def opened(self, call: Callable[[*Ts], T], *args: *Ts) -> T:
        """Call what needs a descriptor; close idle files if none is left."""
        try:
            return call(*args)
        except OSError as error:
            if not is_exhausted(error) or not self.descriptors.close_idle(_CLOSED):
                raise
        return call(*args)

    async def opened_slow(self, call: Callable[[*Ts], T], *args: *Ts) -> T:
        """Call what needs a descriptor, in a thread; close idle files if none is left."""
        try:
            return await self.run(call, *args)
        except OSError as error:
            if not is_exhausted(error) or not self.descriptors.close_idle(_CLOSED):
                raise
        return await self.run(call, *args)

    async def run(self, call: Callable[[*Ts], T], *args: *Ts) -> T:
        """Call in a thread; not cancelled once it has begun."""
        with self.clock.working():
            return await trio.to_thread.run_sync(partial(call, *args), limiter=self.limiter)

    async def run_abandoned(self, call: Callable[[*Ts], T], *args: *Ts) -> T:
        """Call in a thread of its own. Cancelling abandons it, so the call must change nothing."""
        with self.clock.working():
            return await trio.to_thread.run_sync(partial(call, *args), abandon_on_cancel=True)

    async def run_shielded(self, call: Callable[[*Ts], T], *args: *Ts) -> T:
        """Call in a thread, shielded. Takes as long as the disk does."""
        with trio.CancelScope(shield=True):
            done: T = await self.run(call, *args)
        return done


def _takes_nowait(fd: int) -> bool:
    try:
        os.preadv(fd, (bytearray(1),), 0, os.RWF_NOWAIT)
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno in {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}:
            return False
        raise
    return True
