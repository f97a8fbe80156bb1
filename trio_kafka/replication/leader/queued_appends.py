"""Appends that take long: a queue for each partition, written by a task in a thread.

A queue begins with an append to a slow directory or a busy log, or with a large batch for
`record_validation`. Until it is empty every append to its partition joins it, even if the directory
is fast again, so that the order stays. The bytes of all queues are bounded; an append of any size
joins while nothing is queued, so that a large batch can be appended at all. An append without room
is rejected with REQUEST_TIMED_OUT, which clients retry without looking for another leader.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NoReturn

import trio

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.log.append import Appended, append_in_thread
from trio_kafka.log.decompression import Decompression
from trio_kafka.log.disk_latency import DiskLatency
from trio_kafka.log.log import Log
from trio_kafka.replication.append_queue import AppendQueue, Queued
from trio_kafka.replication.isr import check_enough
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.record_validation import RecordValidation
from trio_kafka.replication.topic_metrics import TopicMetrics
from trio_kafka.scheduling.yield_point import YieldPoint
from trio_kafka.world.memory import new_buffer
from trio_kafka.world.protocols import PIECE
from trio_kafka.world.world import World

MOST_BYTES: Final = 256 << 20
REFINED_WITHIN_S: Final = 30.0  # from arrival: the default of producers' request.timeout.ms
_logger: Final = get_logger(__name__)


@define(eq=False)
class _Writing:
    """State of a queue while it exists."""

    queue: AppendQueue
    latency: DiskLatency
    empty: trio.Event
    node: Node


class QueuedAppends:
    """Queues of all partitions. `run` writes them until it is cancelled; without it nothing
    is queued.
    """

    def __init__(
        self,
        world: World,
        node: Node,
        decompression: Decompression,
        yield_point: YieldPoint | None = None,
    ) -> None:
        self._world = world
        self._node = node.add("slow-appends", "part", self._figures)
        self._decompression = decompression
        self.yield_point = yield_point or YieldPoint()
        self._queues: dict[Partition, _Writing] = {}
        self._nursery: trio.Nursery | None = None
        self._bytes = 0
        self._most_bytes = 0
        self._written = 0
        self._refused = 0

    def join(self, partition: Partition, item: Queued, in_pieces: bool = False) -> Queued | None:
        """Queue a checked append. None: append at once, as nothing is queued and the log is fast.

        Its records are copied. in_pieces: call the yield point between the pieces of a large copy.
            Appends made there come first.
        Raises KafkaError: as `Partition.local_log`, REQUEST_TIMED_OUT without room.
        """
        writing = self._queues.get(partition)
        if writing is None:
            log = partition.local_log()
            if self._nursery is None or not (
                log.latency.slow or item.work or log.writer.blocked_by
            ):
                log.latency.calm_down()
                return None
            self._check_room(partition, item.size)  # no queue begins for a rejected append
            writing = self._begin(self._nursery, partition, log.latency)
        else:
            self._check_room(partition, item.size, writing.queue)
        queue = writing.queue
        item.batch = self._copied(item.batch, in_pieces)
        self._check_room(partition, item.size, queue)  # others may have joined
        queue.push(item)
        self._bytes += item.size
        self._most_bytes = max(self._most_bytes, self._bytes)
        return item

    def _check_room(
        self, partition: Partition, size: int, queue: AppendQueue | None = None
    ) -> None:
        """queue: of the partition; None: it has none yet."""
        has_room = not self._bytes or self._bytes + size <= MOST_BYTES
        if has_room and queue is not None:
            has_room = queue.has_room(size)
        if not has_room:
            self._refused += 1
            raise KafkaError(
                ErrorCode.REQUEST_TIMED_OUT,
                f"{partition.at}: the disk is slow, {0 if queue is None else len(queue)} appends "
                f"are queued, and {self._bytes} bytes for all partitions, retry",
            )

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Own the writers until cancelled. Then a running write ends, and queued appends are
        rejected.
        """
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                task_status.started()
                await trio.sleep_forever()
            finally:
                self._nursery = None  # before other tasks run: it is closed when this block ends

    async def wait_empty(self) -> None:
        """Wait until the queues of this moment are empty."""
        await trio.lowlevel.checkpoint()
        for writing in tuple(self._queues.values()):
            await writing.empty.wait()

    # Writers

    def _begin(self, nursery: trio.Nursery, partition: Partition, latency: DiskLatency) -> _Writing:
        queue = AppendQueue()
        node = self._node.add(str(partition.at), "channel", lambda: _queue_figures(queue))
        writing = self._queues[partition] = _Writing(queue, latency, trio.Event(), node)
        latency.queues += 1
        latency.calm = False
        nursery.start_soon(self._write_all, partition, writing, name=f"append {partition.at}")
        return writing

    async def _write_all(self, partition: Partition, writing: _Writing) -> None:
        queue = writing.queue
        try:
            while queue:
                result = await self._write(partition, queue.first)
                self._written += isinstance(result, Appended)
                _count(partition.topic_metrics, queue.first, result)
                self._end_turn(partition, queue, result)
                partition.advance()
                partition.changed(partition)
        finally:
            refused = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the broker stops")
            while queue:
                self._end_turn(partition, queue, refused)
            del self._queues[partition]
            writing.latency.queues -= 1
            writing.node.remove()
            writing.empty.set()

    def _end_turn(
        self, partition: Partition, queue: AppendQueue, result: Appended | KafkaError
    ) -> None:
        """Complete the first append of a queue and mark it, and no other one."""
        item = queue.first
        self._bytes -= queue.pop(result)
        partition.changed(item)

    async def _write(self, partition: Partition, item: Queued) -> Appended | KafkaError:
        await trio.lowlevel.checkpoint()
        try:
            if item.work is not None:
                partition.local_log()  # raises if the work would be in vain
                await self._refine(item, item.work)
            async with _locked(partition) as log:
                if partition.leader_epoch != item.leader_epoch:
                    raise KafkaError(
                        ErrorCode.NOT_LEADER_OR_FOLLOWER,
                        f"{partition.at}: the leader epoch has changed since the request, retry",
                    )
                if item.needs_all:
                    check_enough(len(partition.isr), partition.minimum)
                return await append_in_thread(
                    log,
                    item.batch,
                    item.header,
                    leader_epoch=item.leader_epoch,
                    check=item.check,
                )
        except LogDirError as error:
            return partition.storage_error(error)
        except KafkaError as error:
            return error.as_value()
        except InvariantError:
            raise
        except Exception:
            _logger.exception("append failed", partition=str(partition.at))
            return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)

    async def _refine(self, item: Queued, work: RecordValidation) -> None:
        with trio.move_on_at(item.since + REFINED_WITHIN_S) as scope:
            item.batch, item.header = await work.in_turn(
                self._world, self._decompression, item.batch, item.header
            )
        if scope.cancelled_caught:
            raise KafkaError(
                ErrorCode.REQUEST_TIMED_OUT,
                f"records not checked within {REFINED_WITHIN_S:.0f} s: send smaller batches",
            )

    # Figures

    def _figures(self) -> Figures:
        return {
            "queues": len(self._queues),
            "bytes": self._bytes,
            "high_water_bytes": self._most_bytes,
            "written": self._written,
            "refused": self._refused,
        }

    def _copied(self, records: memoryview, in_pieces: bool) -> memoryview:
        """Copy records in pieces, into a buffer of the final size.

        Memory that the host of a virtual machine has yet to provide costs 3 ms for a megabyte.
        """
        if len(records) <= PIECE:
            return memoryview(bytearray(records))
        copied = new_buffer(len(records))
        for begin in range(0, len(records), PIECE):
            if begin and in_pieces:
                self.yield_point()
            copied[begin : begin + PIECE] = records[begin : begin + PIECE]
        return copied


@asynccontextmanager
async def _locked(partition: Partition) -> AsyncIterator[Log]:
    """Have a turn, and the lock of the directory, for an append to the log of a partition.

    The log may change while they are waited for, as the replica moves. KafkaError.
    """
    while True:
        log = partition.local_log()
        async with log.writer.turn("append"), log.latency.appending:
            if log is partition.local_log():
                yield log
                return


def _count(metrics: TopicMetrics, item: Queued, result: Appended | KafkaError) -> None:
    if isinstance(result, Appended):
        metrics.bytes_in += len(item.batch)
        metrics.records_in += result.last_offset - result.first_offset + 1
    else:
        metrics.count_failed_produce(result.code)


def _queue_figures(queue: AppendQueue) -> Figures:
    return {
        "depth": len(queue),
        "bound": None,  # of one queue: see the node above
        "bytes": queue.bytes,
        "high_water": queue.most_items,
        "high_water_bytes": queue.most_bytes,
        "oldest_s": trio.current_time() - queue.first.since if queue else None,
    }
