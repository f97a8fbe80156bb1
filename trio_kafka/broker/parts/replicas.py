"""The replicas of this broker as a part of the node: they are created as the metadata say."""

from typing import Final

import trio

from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.broker.settings import settings_of_topic
from trio_kafka.log.cleaner.log_cleaner import LogCleaner
from trio_kafka.log.decompression import Decompression
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.metadata.publisher import Loader
from trio_kafka.purgatory import Timers
from trio_kafka.records.leaf import leaf
from trio_kafka.replication.assembly import Replication, ReplicationLimits, assemble
from trio_kafka.replication.leader.fetches import Fetches
from trio_kafka.replication.leader.markers import LocalMarkers
from trio_kafka.replication.leader.queued_appends import QueuedAppends
from trio_kafka.replication.leader.session_cache import SessionCache
from trio_kafka.replication.leader.transaction_gate import Admissions
from trio_kafka.replication.lifecycle import ReplicaLifecycle
from trio_kafka.replication.moves.moves import LogMoves
from trio_kafka.replication.publisher import ReplicaPublisher
from trio_kafka.replication.purgatories import Purgatories
from trio_kafka.replication.table import Replicas
from trio_kafka.replication.topic_metrics import MetricsByTopic

_TASK: Final = "replication"


async def _open(node: Node) -> Replicas:
    """Set strays aside, create missing replicas, and follow the metadata from then on."""
    replication = _make(node)
    node[DynamicSettings].follow(
        lambda config: replication.moves.pace.set_rate(
            config.replica_alter_log_dirs_io_max_bytes_per_second
        )
    )
    publisher = ReplicaPublisher(
        replication.lifecycle,
        settings_of_topic(node.effective),
        full_validation=checks_every_record(node.config.trio_record_validation),
    )
    # No checkpoint between the next two statements: no image may be published in between.
    steps = publisher.start(node[Loader].image)
    node[Loader].add(publisher)
    for _ in steps:
        await trio.lowlevel.checkpoint()
    await node.tasks.start(_TASK, replication.run)
    return replication.replicas


def checks_every_record(validation: str) -> bool:
    """Return the meaning of `trio.record.validation`: Python takes too long to be the default."""
    return validation == "full" or (validation == "auto" and leaf() is not None)


def _make(node: Node) -> Replication:
    """Make the objects known at once, because a directory may fail while replicas are opened."""
    config = node.config
    replication = assemble(
        node.world,
        node.node_id,
        node[LogManager],
        node[Timers],
        node.tree,
        limits=ReplicationLimits(
            session_slots=config.max_incremental_fetch_session_cache_slots,
            session_partitions=config.trio_fetch_session_max_partitions,
            moves_at_once=config.num_replica_alter_log_dirs_threads,
        ),
        yield_point=node.yield_point,
        assign=node[Lifecycle].assign_directories,
    )
    replication.moves.pausing = node[LogCleaner].states.paused
    node.add(Replicas, replication.replicas)
    node.add(Purgatories, replication.purgatories)
    node.add(Fetches, replication.fetches)
    node.add(SessionCache, replication.fetches.sessions)
    node.add(Decompression, replication.decompression)
    node.add(QueuedAppends, replication.queued_appends)
    node.add(LogMoves, replication.moves)
    node.add(MetricsByTopic, replication.topic_metrics)
    node.add(ReplicaLifecycle, replication.lifecycle)
    node.add(LocalMarkers, replication.markers)
    node.add(Admissions, replication.admissions)
    return replication


async def _answer_parked(node: Node) -> None:
    """Answer parked requests with the data that is available.

    Queued appends of slow directories get half of the time left.
    """
    purgatories = node[Purgatories]
    purgatories.fetch.close()
    purgatories.deletions.close()
    left_s = trio.current_effective_deadline() - trio.current_time()
    try:
        with trio.move_on_after(max(left_s, 0.0) / 2):
            await node[QueuedAppends].wait_empty()
    finally:
        purgatories.produce.close()


REPLICAS: Final = Part(
    kind=Replicas,
    open=_open,
    stops={Stage.NETWORK: _answer_parked, Stage.REPLICATION: tasks_end(_TASK)},
    step="replication",
)
