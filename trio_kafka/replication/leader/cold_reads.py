"""Reads of fetched bytes that are not in memory, in threads, for parked fetches.

A task for each cold partition holds its lease until the fetch takes it, or for HANDOVER_S: the
    fetch of a client that has disconnected takes nothing.
"""

from typing import Final, NoReturn

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.channels import Channel
from trio_kafka.introspect.limiter import open_limiter
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.purgatory import Delayed
from trio_kafka.replication.leader.fetch import Fetch
from trio_kafka.replication.leader.read import PartitionRead, read_in_threads
from trio_kafka.replication.leader.sessions import SessionPartition
from trio_kafka.replication.partition import Partition

_logger: Final = get_logger(__name__)

PARKED: Final = 4096  # pending fetches; any further one is answered at its deadline
HANDOVER_S: Final = 1.0
AT_ONCE: Final = 32
_Job = tuple[Fetch, Delayed[object]]


class ColdReads:
    """Fetches with cold partitions. Add them by `submit`; `run` serves them until cancelled."""

    def __init__(self, node: Node) -> None:
        self._node = node.add("cold-reads", "part", self._figures)
        self._jobs: Channel[_Job] = Channel(
            PARKED, self._node, "fetches", age_s=lambda job: trio.current_time() - job[1].since
        )
        self._limiter = open_limiter(AT_ONCE, self._node, "at-once")
        self.read = 0
        self.refused = 0

    def submit(self, fetch: Fetch, delayed: Delayed[object]) -> None:
        """Read the cold partitions of `fetch`. `delayed` is marked after each of them."""
        fetch.taken = trio.Event()
        try:
            self._jobs.send_nowait((fetch, delayed))
        except trio.WouldBlock:
            self.refused += 1

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Serve until cancelled."""
        async with trio.open_nursery() as nursery:
            task_status.started()
            while True:
                fetch, delayed = await self._jobs.receive()
                for member, partition in fetch.cold.items():
                    nursery.start_soon(
                        self._serve, fetch, delayed, member, partition, name=f"cold {partition.at}"
                    )

    async def _serve(
        self, fetch: Fetch, delayed: Delayed[object], member: SessionPartition, partition: Partition
    ) -> None:
        async with self._limiter:
            if delayed.done:
                return
            answer = await self._find(fetch, member, partition)
        self.read += 1
        await self._hand_over(fetch, delayed, member, answer)

    @staticmethod
    async def _hand_over(
        fetch: Fetch, delayed: Delayed[object], member: SessionPartition, answer: PartitionRead
    ) -> None:
        if delayed.done or fetch.taken is None:
            answer.release()
            await trio.lowlevel.checkpoint()
            return
        fetch.ready[member] = answer
        try:
            delayed.marked()
            with trio.move_on_after(HANDOVER_S):
                await fetch.taken.wait()
        finally:
            unused = fetch.ready.pop(member, None)
            if unused is answer:
                answer.release()

    async def _find(
        self, fetch: Fetch, member: SessionPartition, partition: Partition
    ) -> PartitionRead:
        limits, request = fetch.limits, member.request
        most = min(limits.max_bytes, request.max_bytes)
        try:
            return await read_in_threads(partition, request, most, limits.isolation)
        except KafkaError as error:
            return PartitionRead(error=error)
        except Exception:
            _logger.exception("cold read failed", partition=str(partition.at))
            return PartitionRead(error=KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))

    def _figures(self) -> Figures:
        return {
            "read": self.read,
            "refused": self.refused,
            "busy": self._limiter.statistics().borrowed_tokens,
        }
