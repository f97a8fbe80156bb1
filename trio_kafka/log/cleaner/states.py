"""States of logs for the cleaner: at work, paused, uncleanable.

A run is a claim of a log, never of a partition or a path. The log revokes it when it is closed or
its policy changes, a pause revokes it too: the run is cancelled, after a swap in progress.
A log whose run found damage is uncleanable until the broker starts again, or the partition is
deleted or moved.
Source: Kafka's LogCleanerManager; LogManager.asyncDelete and updateTopicConfig abort the run.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.log.log import Log
from trio_kafka.log.writer import Claim
from trio_kafka.model import TopicPartition


@define(eq=False)
class CleaningStates:
    """States of all logs. uncleanable: reasons of logs that cannot be compacted.

    on_free: called when a pause has ended.
    """

    on_free: Callable[[], None] = field(default=lambda: None, init=False)
    uncleanable: dict[Log, str] = field(factory=dict, init=False)
    _runs: dict[Log, Claim] = field(factory=dict, init=False)
    _postponed: dict[Log, float] = field(factory=dict, init=False)
    _paused: Counter[TopicPartition] = field(factory=Counter, init=False)

    def is_free(self, log: Log) -> bool:
        """Return whether the log may be worked on."""
        return self.is_usable(log) and log.writer.claim is None

    def is_ready(self, log: Log) -> bool:
        """Return whether the next run may be one over this log."""
        return self.is_free(log) and not self._is_postponed(log)

    def is_usable(self, log: Log) -> bool:
        """Return whether the log may be worked on as soon as no other work claims it."""
        return not (
            log.closed or log.failed or log in self.uncleanable or log.partition in self._paused
        )

    def postpone(self, log: Log, until: float) -> None:
        """Let no run begin before `until`, monotonic seconds, so that other logs are compacted."""
        if not log.closed:
            self._postponed[log] = until

    def _is_postponed(self, log: Log) -> bool:
        until = self._postponed.get(log)
        if until is not None and until <= trio.current_time():
            del self._postponed[log]
            until = None
        return until is not None

    @contextmanager
    def running(self, log: Log) -> Iterator[Claim]:
        """Claim a log that is compacted in the block, which ends when the claim is revoked."""
        with log.writer.claimed("cleaning") as claim:
            self._runs[log] = claim
            try:
                yield claim
            finally:
                del self._runs[log]

    @contextmanager
    def retaining(self, log: Log) -> Iterator[Claim]:
        """Claim a log of which old segments are removed in the block."""
        with log.writer.claimed("retention") as claim:
            yield claim

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
                self.on_free()

    async def cancel(self, partition: TopicPartition) -> None:
        """Cancel the run of a partition, and wait for its end. A swap is completed first."""
        await trio.lowlevel.checkpoint()
        for log, run in tuple(self._runs.items()):
            if log.partition == partition:
                run.revoke("the partition is paused")
                await run.ended.wait()

    def forget(self, log: Log) -> None:
        """Forget a log that was closed."""
        self.uncleanable.pop(log, None)
        self._postponed.pop(log, None)
