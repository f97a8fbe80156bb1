"""Copying of a log into its future log, in pieces of whole batches.

The future log is a prefix of the log, from the log's start on. Truncation, retention and deletion
of records change the log at any time; `align` lets the future log follow. Only the task of the move
writes to the future log.
Source: KIP-113; KIP-101 for the common prefix.
"""

from collections.abc import Callable
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.log.append import copy_in_thread
from trio_kafka.log.epochs import NO_EPOCH, LeaderEpochs
from trio_kafka.log.log import Log
from trio_kafka.log.read import read_bytes
from trio_kafka.log.rolling import skip_in_thread
from trio_kafka.log.truncate import restart_at, truncate_to
from trio_kafka.records.header import BatchHeader, check_crc, iterate_and_check
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.scheduling.loop_budget import in_steps

_BATCHES: Final = 100  # batches that are checked in one step
_BYTES: Final = 128 << 10


@define(eq=False)
class Copying:
    """Copying of `log` into `future`. bytes: copied so far. moved_start: called with a new start.

    is_close: the last piece ended where the log ended when it was read.
    """

    log: Log
    future: Log
    moved_start: Callable[[], None]
    bytes: int = field(default=0, init=False)
    is_close: bool = field(default=False, init=False)

    @property
    def lag(self) -> int:
        """Offsets that are still to be copied."""
        return max(self.log.end_offset - self.future.end_offset, 0)

    async def align(self) -> None:
        """Cut what the log does not have, and follow its start. KafkaError, LogDirError."""
        log, future = self.log, self.future
        while (common := self._common_end()) < future.end_offset:
            if common <= future.segments.first.base_offset:
                await restart_at(future, log.start_offset)
            else:
                await truncate_to(future, common)
        # A crash may have cost a future log that was not durable its first segments.
        if not future.start_offset <= log.start_offset <= future.end_offset:
            await restart_at(future, log.start_offset)
        future.high_watermark = log.high_watermark
        start = min(log.start_offset, future.high_watermark)
        if start > future.start_offset:
            future.set_start_offset(start)
            self.moved_start()
        await trio.lowlevel.checkpoint()

    def _common_end(self) -> int:
        """Return an end of the future log up to which both may have the same batches."""
        log, future = self.log, self.future
        latest = future.leader_epoch
        if latest == NO_EPOCH:
            return min(future.end_offset, log.end_offset)
        epoch, end = log.epoch_end_offset(latest)
        if epoch == latest:
            return min(future.end_offset, end)
        began = future.epochs.rows[-1][1]  # the log was cut before this epoch
        return min(began, log.end_offset) if epoch == NO_EPOCH else min(began, end)

    async def copy(self, max_bytes: int) -> int:
        """Copy some batches. Return their bytes; 0: there are none.

        Raises KafkaError, also CORRUPT_MESSAGE for a damaged batch; LogDirError.
        """
        future = self.future
        if future.end_offset >= self.log.end_offset:
            self.is_close = True
            await trio.lowlevel.checkpoint()
            return 0
        batches = await self._read(max_bytes)
        if batches.headers and batches.headers[0].base_offset < future.end_offset:
            # The start of the log is inside of this batch.
            await restart_at(future, batches.headers[0].base_offset)
        async with future.writer.turn("append"):
            return await self._append(batches)

    async def copy_held(self, max_bytes: int) -> int:
        """Copy as `copy` does. The caller has a turn of the future log, which is aligned."""
        return await self._append(await self._read(max_bytes))

    async def _read(self, max_bytes: int) -> "_Piece":
        end = self.log.end_offset
        content = memoryview(await read_bytes(self.log, self.future.end_offset, max_bytes))
        return _Piece(content, await in_steps(_checked(content)), end)

    async def _append(self, piece: "_Piece") -> int:
        if piece.headers:
            await copy_in_thread(self.future, piece.content, piece.headers)
        else:  # only a gap is left: its records were compacted away
            await skip_in_thread(self.future, piece.end)
        self.is_close = self.future.end_offset >= piece.end
        self.bytes += len(piece.content)
        return len(piece.content)

    def hand_over(self) -> None:
        """Give the future log what the log knows beyond its batches. Both end at one offset."""
        log, future = self.log, self.future
        future.configure(log.config)
        future.epochs = LeaderEpochs(log.epochs.rows)
        future.epochs.dirty = True
        future.producers = log.producers  # also producers whose batches retention has removed
        future.producers.loads_at = None
        future.start_offset = log.start_offset
        future.high_watermark = log.high_watermark
        future.flush_end = max(future.flush_end, log.flush_end)


@frozen
class _Piece:
    """Batches of the log. end: the log's end before they were read."""

    content: memoryview
    headers: list[BatchHeader]
    end: int


def _checked(content: memoryview) -> Steps[list[BatchHeader]]:
    """Return the headers of batches with a correct checksum. KafkaError(CORRUPT_MESSAGE)."""
    headers: list[BatchHeader] = []
    size = 0
    for position, header, is_checked in iterate_and_check(content):
        if not is_checked:
            check_crc(content, position, header)
        headers.append(header)
        size += header.size
        if size > _BYTES or not len(headers) % _BATCHES:
            size = 0
            yield
    return headers
