"""One move: copy a log into its future log, then let the future log take its place.

The copy is durable before it counts: first the future log is synced, then the metadata get the new
directory of the replica, then the logs change places. Appends to the partition wait in its queue
for the last step only, in which the rest is copied. A crash at any moment leaves one log that has
all that was durable, and a move that goes on or is complete (`log.manager.loading`).
Source: KIP-113; KIP-858 for the metadata.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.log.durability.sync import sync, sync_now
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.replication.moves.copying import Copying
from trio_kafka.replication.moves.pace import Pace
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Offline

BACKOFF_S: Final = 1.0  # the default of replica.fetch.backoff.ms
LONGEST_SWITCH_S: Final = 30.0
MOST_AT_SWITCH: Final = 4 << 20  # bytes that are copied while appends wait
_PIECE_AT_SWITCH: Final = 1 << 20
# Commits the directory of a replica to the metadata. Raises KafkaError.
Assign = Callable[[Partition, LogDirectory], Awaitable[None]]
_logger: Final = get_logger(__name__)


@define(eq=False, kw_only=True)
class Mover:
    """A move of `partition` into `directory`. `run` performs it; `scope` ends it.

    state: queued, copying, syncing, switching, done, failed. reason: why it failed.
    """

    partition: Partition
    directory: LogDirectory
    log: Log
    future: Log
    logs: LogManager
    pace: Pace
    assign: Assign
    state: str = field(default="queued", init=False)
    reason: str | None = field(default=None, init=False)
    _is_assigned: bool = field(default=False, init=False)
    scope: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    copying: Copying = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.copying = Copying(self.log, self.future, self._moved_start)

    def _moved_start(self) -> None:
        self.partition.changed(self.partition)

    def goes_on(self) -> bool:
        """Return False once the move is cancelled or overtaken, as by a deletion."""
        partition = self.partition
        return (
            partition.future is self.future
            and partition.log is self.log
            and not isinstance(partition.role, Offline)
            and not self.log.closed
            and not self.future.closed
        )

    async def run(self) -> None:
        """Move, and try again after errors that pass. A damaged batch fails the move."""
        while self.goes_on() and self.state != "done":
            try:
                await self._forget_cleaned_offset()
                await self._move()
            except LogDirError as error:
                self._fail(error)
                return
            except KafkaError as error:
                if not self.goes_on():
                    return
                if error.code is ErrorCode.CORRUPT_MESSAGE:
                    self._fail(error)
                    return
                if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
                    continue  # the start of the log has just passed the end of the copy
                _logger.warning("move delayed", partition=str(self.partition.at), reason=str(error))
                await trio.sleep(BACKOFF_S)

    async def _forget_cleaned_offset(self) -> None:
        """Claim nothing of what is not in the future log yet, as another log may have been here."""
        await sync(self.future)  # the first one forgets what was there before
        cleaned = self.directory.cleaned(self.partition.at)
        if cleaned is not None and cleaned > self.future.end_offset:
            await self._write_cleaned_offset(self.future.end_offset)

    async def _take_cleaned_offset(self) -> None:
        """Let the target know how far the log was compacted, as a start takes other gaps for holes.

        Only once the copy is durable: until then a gap may be a hole.
        """
        source = self.logs.directory_of(self.partition.at)
        cleaned = None if source is None else source.cleaned(self.partition.at)
        if cleaned is None:
            await trio.lowlevel.checkpoint()
            return
        await self._write_cleaned_offset(min(cleaned, self.future.recovery_point))

    async def _write_cleaned_offset(self, offset: int) -> None:
        try:
            await self.directory.write_cleaned(self.future, offset)
        except OSError as error:
            self.directory.fail(error)
            raise LogDirError(self.directory.path, str(error)) from error

    def _fail(self, error: Exception) -> None:
        self.state, self.reason = "failed", str(error)
        path = self.directory.path
        _logger.error("move failed", partition=str(self.partition.at), to=path, reason=str(error))

    async def _move(self) -> None:
        self.state = "copying"
        while self.goes_on():
            await self.copying.align()
            copied = await self.copying.copy(self.pace.piece)
            await self.pace.pay(copied)
            if self.copying.is_close and await self._finish():
                return

    async def _finish(self) -> bool:
        """Complete a move that is close to the end. False: there is more to copy."""
        self.state = "syncing"
        await sync(self.future)
        await self._take_cleaned_offset()
        if not self._is_assigned:
            await self.assign(self.partition, self.directory)
            self._is_assigned = True
        self.state = "switching"
        with self._shield():
            async with self.log.writer.turn("move"), self.future.writer.turn("move"):
                done = self.goes_on() and await self._switch()
        self.state = "done" if done else "copying"
        return done

    async def _switch(self) -> bool:
        """Copy the rest while appends wait, and let the logs change places. Has turns of both.

        False: the rest is too large to wait for.
        """
        log, future, copied = self.log, self.future, 0
        with ExitStack() as blocked:
            blocked.enter_context(log.blocking_appends("move"))
            while self.copying.lag and copied < MOST_AT_SWITCH:
                copied += await self.copying.copy_held(_PIECE_AT_SWITCH)
            if future.recovery_point < log.recovery_point:
                await sync_now(future)
            if not self.goes_on() or future.end_offset != log.end_offset:
                return False
            self.copying.hand_over()
            blocked.enter_context(future.blocking_appends("move"))
            self.logs.promote(self.partition.at)
            self.partition.replace_log(future)
            # A power loss may bring both old names back, and with them the log as it was. So
            # nothing is appended before the new name is durable.
            await self.directory.sync_names()
        if future.durable_end < future.end_offset:
            future.wants_sync(future)
        path = self.directory.path
        _logger.info(
            "replica moved", partition=str(self.partition.at), to=path, bytes=self.copying.bytes
        )
        return True

    @contextmanager
    def _shield(self) -> Iterator[None]:
        """Shield the switch, with a timeout; expiry leaves the log in its place."""
        deadline = trio.current_time() + LONGEST_SWITCH_S
        with trio.CancelScope(shield=True, deadline=deadline) as scope:
            yield
        if scope.cancelled_caught:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the disk was too slow for the switch")

    def figures(self) -> Figures:
        """Return figures for the tree."""
        return {
            "state": self.state,
            "from": self.log.directory.path,
            "to": self.directory.path,
            "lag": self.copying.lag,
            "bytes": self.copying.bytes,
            "left_bytes": max(self.log.size - self.future.size, 0),
            "reason": self.reason,
        }
