"""All moves of a broker: begun by requests, resumed at the start, a few at a time.

A failed move is kept with its reason until it is asked for again, cancelled, or its partition goes.
Source: KIP-113; num.replica.alter.log.dirs.threads.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, NoReturn

import trio

from trio_kafka.errors import InvariantError
from trio_kafka.introspect.limiter import open_limiter
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.model import TopicPartition
from trio_kafka.replication.moves.directory_assignments import DirectoryAssignments
from trio_kafka.replication.moves.mover import Mover
from trio_kafka.replication.moves.pace import Pace
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Deleted, Offline

_logger: Final = get_logger(__name__)


@asynccontextmanager
async def _pause_nothing(partition: TopicPartition) -> AsyncIterator[None]:
    """Default of `LogMoves.pausing`."""
    del partition
    await trio.lowlevel.checkpoint()
    yield


class LogMoves:
    """Moves by partition. logs: those of the broker. pace: of all moves together.

    assignments: reports to the metadata.
    pausing: keeps a partition from being compacted during a block.
    """

    def __init__(
        self,
        logs: LogManager,
        node: Node,
        assignments: DirectoryAssignments,
        *,
        at_once: int | None = None,
    ) -> None:
        self.pace = Pace()
        self.pausing: Callable[[TopicPartition], AbstractAsyncContextManager[None]] = _pause_nothing
        self.logs = logs
        self.assignments = assignments
        self._node = node.add("replica-alter-log-dirs", "part", self._figures)
        self._limiter = open_limiter(at_once or max(len(logs.by_path()), 1), self._node, "at-once")
        self._movers: dict[Partition, Mover] = {}
        self._nodes: dict[Mover, Node] = {}
        self._nursery: trio.Nursery | None = None
        self._done = 0

    def __len__(self) -> int:
        return len(self._movers)

    @property
    def failed(self) -> int:
        """Number of failed moves."""
        return sum(mover.state == "failed" for mover in self._movers.values())

    @property
    def largest_lag(self) -> int:
        """Largest number of offsets that a future log is behind."""
        return max((mover.copying.lag for mover in self._movers.values()), default=0)

    def find(self, partition: Partition) -> Mover | None:
        """Return the move of a partition."""
        return self._movers.get(partition)

    def begin(self, partition: Partition, directory: LogDirectory) -> None:
        """Move a replica into `directory`, unless it is there or on the way.

        A move into another directory is cancelled. Raises KafkaError; LogDirError if the directory
        fails now.
        """
        log = partition.local_log(leader_only=False)
        mover = self._movers.get(partition)
        if mover is not None and (mover.directory is not directory or mover.state == "failed"):
            self.cancel(partition)
            mover = None
        if mover is not None or partition.at in directory.logs:
            return
        source = self.logs.directory_of(partition.at, is_future=True)
        if source is directory:  # of a move that ended when the directory of the log failed
            self.resume(partition)
            return
        self.logs.drop_future(partition.at)
        future = self.logs.create_future(
            directory,
            partition.at,
            partition.topic_id,
            config=log.config,
            start_offset=log.start_offset,
        )
        self._start(partition, directory, log, future)

    def resume(self, partition: Partition) -> None:
        """Go on with a move that the last life of the broker had begun, if there is one."""
        future = self.logs.future(partition.at)
        directory = self.logs.directory_of(partition.at, is_future=True)
        log = partition.log
        if future is None or directory is None or log is None or future.failed:
            return
        if future.topic_id != partition.topic_id or partition.at in directory.logs:
            self.logs.drop_future(partition.at)
            return
        future.configure(log.config)
        self._start(partition, directory, log, future)

    def cancel(self, partition: Partition) -> None:
        """End the move of a partition and delete the future log. Idempotent.

        The metadata may name the target already; then they are told that the replica stays.
        """
        mover = self._movers.pop(partition, None)
        if mover is not None:
            mover.scope.cancel()
            self._nodes.pop(mover).remove()
        if partition.future is not None:
            partition.future = None
            partition.changed(partition)
        self.logs.drop_future(partition.at)
        self.report(partition)

    def report(self, partition: Partition) -> None:
        """Report the directory of a replica that does not move, if the metadata name another."""
        directory = self.logs.directory_of(partition.at)
        if (
            directory is not None
            and not isinstance(partition.role, Deleted)
            and partition not in self._movers
        ):
            self.assignments.note(partition, directory)

    def _start(self, partition: Partition, directory: LogDirectory, log: Log, future: Log) -> None:
        mover = Mover(
            partition=partition,
            directory=directory,
            log=log,
            future=future,
            logs=self.logs,
            pace=self.pace,
            assign=self.assignments.assign,
        )
        partition.future = future
        self._movers[partition] = mover
        self._nodes[mover] = self._node.add(str(partition.at), "part", mover.figures)
        if self._nursery is not None:
            self._nursery.start_soon(self._run, mover, name=f"move {partition.at}")

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Perform the moves until cancelled; they go on after the next start."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                for mover in self._movers.values():
                    nursery.start_soon(self._run, mover, name=f"move {mover.partition.at}")
                task_status.started()
                await trio.sleep_forever()
            finally:
                self._nursery = None  # before other tasks run: it is closed when this block ends

    async def _run(self, mover: Mover) -> None:
        with mover.scope:
            async with self._limiter:
                try:
                    async with self.pausing(mover.partition.at):
                        await mover.run()
                except InvariantError:
                    raise
                except Exception as error:
                    mover.state, mover.reason = "failed", repr(error)
                    _logger.exception("move failed", partition=str(mover.partition.at))
        self._end(mover)

    def _end(self, mover: Mover) -> None:
        """Forget a move that is done or was overtaken; a failed one is kept."""
        partition = mover.partition
        if self._movers.get(partition) is not mover:
            return
        if mover.state == "done":
            self._done += 1
            del self._movers[partition]
            self._nodes.pop(mover).remove()
        elif isinstance(partition.role, Offline):
            mover.state, mover.reason = "failed", str(partition.role.reason)
        elif mover.future.failed or mover.state != "failed":
            self.cancel(partition)

    def _figures(self) -> Figures:
        return {
            "moves": len(self._movers),
            "failed": self.failed,
            "done": self._done,
            "largest_lag": self.largest_lag,
            "rate": self.pace.rate,
            "waiting_for_pace": self.pace.waiting,
        }
