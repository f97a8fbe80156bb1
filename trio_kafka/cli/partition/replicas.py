"""Replicas of partitions in the directories of brokers, and the wait for their moves.

A replica that moves to another directory is there twice until the copy has caught up: the present
replica, and a future one, which then takes its place (KIP-113).
"""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.clients.admin.log_dirs import LogDirDescription, TopicPartitionReplica
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.clients.errors import ClientError
from trio_kafka.model import TopicPartition

_FIRST_POLL_S: Final = 0.05
_LAST_POLL_S: Final = 1.0


@frozen(kw_only=True)
class Replica:
    """A replica in a directory. size: bytes. offset_lag: records behind, of a future replica those
    of the present one.
    """

    at: TopicPartitionReplica
    directory: str
    size: int
    offset_lag: int
    is_future: bool = False


Directories = Mapping[int, Mapping[str, LogDirDescription]]
"""Directories of brokers, by node id and path."""


def read_directories(
    admin: BlockingAdmin, partitions: Iterable[TopicPartition] | None = None
) -> Directories:
    """Return the directories of all brokers, with replicas of these partitions; None: of all."""
    nodes = sorted(node.node_id for node in admin.describe_cluster().nodes)
    return admin.describe_log_dirs(nodes, partitions=partitions).all()


def replicas_in(directories: Directories) -> list[Replica]:
    """Return the replicas, sorted by topic, partition and broker, a future one last."""
    replicas = [
        Replica(
            at=TopicPartitionReplica(at.topic, at.partition, node),
            directory=path,
            size=info.size,
            offset_lag=info.offset_lag,
            is_future=info.is_future,
        )
        for node, paths in directories.items()
        for path, description in paths.items()
        for at, info in description.replica_infos.items()
    ]
    return sorted(replicas, key=lambda replica: (replica.at, replica.is_future))


def declare_wait(parser: ArgumentParser) -> None:
    """Declare the option `--wait`."""
    parser.add_argument(
        "--wait",
        type=float,
        metavar="SECONDS",
        help="show the progress, and wait so long for the end (default: return at once)",
    )


def wait_moved(
    admin: BlockingAdmin,
    moves: Mapping[TopicPartitionReplica, str],
    *,
    seconds: float,
    also: Callable[[], int] = lambda: 0,
) -> dict[TopicPartitionReplica, ClientError]:
    """Wait until no replica has a future one; return an error for each that has not arrived.

    moves: directories by replica. also: number of other changes in progress, which are waited for,
    too. Progress goes to the standard error. Raises CommandFailedError if time runs out.
    """
    deadline = time.monotonic() + seconds
    partitions = {TopicPartition(at.topic, at.partition) for at in moves}
    shown, pause_s = "", _FIRST_POLL_S
    while True:
        replicas = replicas_in(read_directories(admin, partitions))
        moving = [row for row in replicas if row.is_future and row.at in moves]
        others = also()
        if not moving and not others:
            arrived = {row.at for row in replicas if moves.get(row.at) == row.directory}
            return {at: _failed(at, path) for at, path in moves.items() if at not in arrived}
        text = _progress(moving, len(moves), others)
        if text != shown:
            print(f"trio-kafka: {text}", file=sys.stderr)
            shown = text
        if time.monotonic() + pause_s > deadline:
            raise CommandFailedError(
                f"{text}, after {seconds:g} s: the work goes on, see `trio-kafka partition list"
                " --moving`",
                FAILED,
            )
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, _LAST_POLL_S)


def _failed(at: TopicPartitionReplica, path: str) -> ClientError:
    return ClientError(
        f"{at.topic}-{at.partition} on broker {at.broker}: the move to {path} has failed, or was"
        " cancelled: the log of the broker says why"
    )


def _progress(moving: Sequence[Replica], count: int, others: int) -> str:
    behind = sum(row.offset_lag for row in moving)
    parts = []
    if count:
        parts.append(f"{count - len(moving)} of {count} replicas moved, {behind:,} records behind")
    if others:
        parts.append(f"{others} reassignments in progress")
    return "; ".join(parts)
