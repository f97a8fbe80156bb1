"""Snapshots of the metadata as a part of the node."""

from functools import partial
from typing import Final

from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.broker.parts.quorum import disk_failure
from trio_kafka.broker.storage import Storage
from trio_kafka.metadata.publisher import Loader
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.raft.generator import SnapshotGenerator, SnapshotSettings

_TASK: Final = "snapshot-generator"


async def _open(node: Node) -> SnapshotGenerator:
    """Start writing snapshots of the image; to be opened after all other readers of it."""
    config = node.config
    settings = SnapshotSettings(
        max_record_bytes_between_snapshots=config.metadata_log_max_record_bytes_between_snapshots,
        max_snapshot_interval_ms=config.metadata_log_max_snapshot_interval_ms,
    )
    generator = SnapshotGenerator(node[RaftDriver], settings, node.tree)
    node[Loader].add(generator)
    await node.tasks.start(
        _TASK, generator.run, cause=partial(disk_failure, node[Storage].metadata)
    )
    return generator


SNAPSHOTS: Final = Part(
    kind=SnapshotGenerator,
    open=_open,
    stops={Stage.CONTROLLER: tasks_end(_TASK)},
    step="upkeep",
)
