"""States of logs for the cleaner: being compacted, paused, set aside as uncleanable.

A log that is paused is not compacted; a run in progress is cancelled. A log whose run failed for
damage is set aside until the broker starts again, or the partition is deleted or moved.
Source: Kafka's LogCleanerManager.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.log.log import Log
from trio_kafka.model import TopicPartition


@define(eq=False)
class _Run:
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    ended: trio.Event = field(factory=trio.Event)


@define(eq=False)
class CleaningStates:
    """States of all logs. set_aside: reasons of logs that cannot be compacted."""

    set_aside: dict[Log, str] = field(factory=dict, init=False)
    _runs: dict[Log, _Run] = field(factory=dict, init=False)
    _paused: Counter[TopicPartition] = field(factory=Counter, init=False)

    def is_free(self, log: Log) -> bool:
        """Return whether a run may begin."""
        return not (
            log.closed
            or log.failed
            or log.writer.claim
            or log in self.set_aside
            or log.partition in self._paused
        )

    @contextmanager
    def running(self, log: Log) -> Iterator[trio.CancelScope]:
        """Mark a log as being compacted for the block, which ends when the run is cancelled."""
        run = self._runs[log] = _Run()
        try:
            with log.writer.claimed("cleaning"), run.scope as scope:
                yield scope
        finally:
            del self._runs[log]
            run.ended.set()

    @asynccontextmanager
    async def paused(self, partition: TopicPartition) -> AsyncIterator[None]:
        """Keep a partition from being compacted during the block; first cancel its run.

        For moves and other work on the sealed segments of a log.
        """
        self._paused[partition] += 1
        try:
            await self.cancel(partition)
            yield
        finally:
            self._paused[partition] -= 1
            if not self._paused[partition]:
                del self._paused[partition]

    async def cancel(self, partition: TopicPartition) -> None:
        """Cancel the run of a partition, and wait for its end. A swap is completed first."""
        await trio.lowlevel.checkpoint()
        for log, run in tuple(self._runs.items()):
            if log.partition == partition:
                run.scope.cancel()
                await run.ended.wait()

    def forget_closed(self) -> None:
        """Forget logs that were deleted."""
        for log in [log for log in self.set_aside if log.closed]:
            del self.set_aside[log]
