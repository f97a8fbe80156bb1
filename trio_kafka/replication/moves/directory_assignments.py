"""Directories of this broker's replicas in the metadata: reported when they differ.

The controller leaves the choice of a directory to a broker that has several. A replica that moves
is reported by its move, before the logs change places.
Source: KIP-858; Kafka's AssignmentsManager.
"""

from collections.abc import Awaitable, Callable, Mapping
from itertools import islice
from typing import Final, NoReturn

import trio

from trio_kafka.errors import KafkaError
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.log.files.partition_metadata import parse_id
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.model import TopicId
from trio_kafka.replication.partition import Partition

Replica = tuple[TopicId, int]
# Commits directory ids of this broker's replicas to the metadata. Raises KafkaError.
Assign = Callable[[Mapping[Replica, bytes]], Awaitable[None]]
AT_ONCE: Final = 2000
BACKOFF_S: Final = 1.0
_logger: Final = get_logger(__name__)


async def assign_none(directories: Mapping[Replica, bytes]) -> None:
    """Ignore the directories, for metadata that have none."""
    del directories
    await trio.lowlevel.checkpoint()


class DirectoryAssignments:
    """Queue of replicas to be reported; `run` reports them. Bounded by the number of replicas."""

    def __init__(self, assign: Assign, node: Node) -> None:
        self._assign = assign
        self._queue: dict[Replica, bytes] = {}
        self._bell = trio.Event()
        self._done = 0
        node.add("directory-assignments", "part", self.figures)

    def note(self, partition: Partition, directory: LogDirectory) -> None:
        """Report the directory of a replica soon, unless the metadata name it already."""
        replica = partition.topic_id, partition.at.partition
        directory_id = _id_of(directory)
        self._queue.pop(replica, None)
        state = partition.state
        if directory_id is None or not state.directories:
            return
        if state.directory(partition.node) != directory_id:
            self._queue[replica] = directory_id
            self._bell.set()

    def forget(self, partition: Partition) -> None:
        """Drop the report of a replica that was removed."""
        self._queue.pop((partition.topic_id, partition.at.partition), None)

    async def assign(self, partition: Partition, directory: LogDirectory) -> None:
        """Report the directory of a replica now. Raises KafkaError."""
        directory_id = _id_of(directory)
        self.forget(partition)
        if directory_id is None or not partition.state.directories:
            await trio.lowlevel.checkpoint()
            return
        await self._assign({(partition.topic_id, partition.at.partition): directory_id})
        self._done += 1

    @waits_for_work("a replica to assign to a directory")
    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Report the replicas that were noted, many together, until cancelled."""
        task_status.started()
        while True:
            await self._bell.wait()
            some = dict(islice(self._queue.items(), AT_ONCE))
            if not some:
                self._bell = trio.Event()
                continue
            try:
                await self._assign(some)
            except KafkaError as error:
                _logger.info("directories not reported yet", reason=str(error))
                await trio.sleep(BACKOFF_S)
                continue
            self._done += len(some)
            for replica, directory_id in some.items():
                if self._queue.get(replica) == directory_id:
                    del self._queue[replica]

    def figures(self) -> Figures:
        """Return figures for the tree."""
        return {"waiting": len(self._queue), "done": self._done}


def _id_of(directory: LogDirectory) -> bytes | None:
    properties = directory.properties
    if properties is None or properties.directory_id is None:
        return None
    return parse_id(properties.directory_id)
