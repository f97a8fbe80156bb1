"""Turns of the shards of one topic: each one with unfinished work gets a slice of the loop in turn.

Unfinished work is steps that are left, commits, a linger that is over. Between slices of shards,
those that were unloaded are cleaned up in slices, too.
"""

from collections import deque
from collections.abc import Callable
from typing import NoReturn, Protocol

import trio

from trio_kafka.coordinators.shards.loading import SLICE_S
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.scheduling.chunked_work import Steps, advance, whole


class BusyShard(Protocol):
    """A shard, as its turns see it."""

    @property
    def busy(self) -> bool:
        """True if work is left."""

    def go_on(self, ends: float) -> None:
        """Work until a time; if work is left then, ask for another turn."""


class ShardTurns:
    """Line of busy shards, and the clean-up of unloaded ones. `run` must run.

    elapsed: seconds of any clock.
    """

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._busy: dict[BusyShard, None] = {}
        self._cleanups: deque[Steps[None]] = deque()
        self._event = trio.Event()

    @property
    def busy(self) -> int:
        """Shards that wait for a turn."""
        return len(self._busy)

    @property
    def cleanups(self) -> int:
        """Clean-ups that are not done."""
        return len(self._cleanups)

    def add(self, shard: BusyShard) -> None:
        """Give a shard a turn, behind the others. Idempotent."""
        self._busy[shard] = None
        self._event.set()

    def discard(self, shard: BusyShard) -> None:
        """Give a shard no turn. Idempotent."""
        self._busy.pop(shard, None)

    def clean_up(self, steps: Steps[None]) -> None:
        """Take the steps of a clean-up."""
        self._cleanups.append(steps)
        self._event.set()

    def clean_up_now(self) -> None:
        """Finish all clean-ups."""
        while self._cleanups:
            whole(self._cleanups.popleft())

    @waits_for_work("work on a partition")
    async def run(self) -> NoReturn:
        """Give each busy shard a slice in turn, until cancelled."""
        elapsed = self._elapsed
        while True:
            await self._event.wait()
            while self._busy or self._cleanups:
                if self._busy:
                    self._go_on(elapsed() + SLICE_S)
                    await trio.lowlevel.checkpoint()
                if self._cleanups:
                    if advance(self._cleanups[0], elapsed, elapsed() + SLICE_S) is not None:
                        self._cleanups.popleft()
                    await trio.lowlevel.checkpoint()
            self._event = trio.Event()

    def _go_on(self, ends: float) -> None:
        """Work on the next shard that has something to do."""
        while self._busy:
            shard = next(iter(self._busy))
            del self._busy[shard]
            if shard.busy:
                shard.go_on(ends)  # which queues it behind the others if there is more
                return
