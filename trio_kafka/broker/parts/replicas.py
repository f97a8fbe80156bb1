"""The replicas of this broker as a part of the node: they are created as the metadata say."""

from typing import Final

import trio

from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.broker.settings import settings_of_topic
from trio_kafka.log.cleaner.log_cleaner import LogCleaner
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.metadata.publisher import Loader
from trio_kafka.purgatory import Timers
from trio_kafka.replication.manager import ReplicaManager
from trio_kafka.replication.publisher import ReplicaPublisher

_TASK: Final = "replication"


async def _open(node: Node) -> ReplicaManager:
    """Set strays aside, create missing replicas, and follow the metadata from then on."""
    # Known at once, because a directory may fail meanwhile.
    replicas = node.add(ReplicaManager, _make(node))
    node[DynamicSettings].follow(
        lambda config: replicas.moves.pace.set_rate(
            config.replica_alter_log_dirs_io_max_bytes_per_second
        )
    )
    publisher = ReplicaPublisher(
        replicas,
        settings_of_topic(node.effective),
        full_validation=node.config.trio_record_validation == "full",
    )
    # No checkpoint between the next two statements: no image may be published in between.
    steps = publisher.start(node[Loader].image)
    node[Loader].add(publisher)
    for _ in steps:
        await trio.lowlevel.checkpoint()
    await node.tasks.start(_TASK, replicas.run)
    return replicas


def _make(node: Node) -> ReplicaManager:
    config = node.config
    replicas = ReplicaManager(
        node.world,
        node.node_id,
        node[LogManager],
        node[Timers],
        node.tree,
        session_slots=config.max_incremental_fetch_session_cache_slots,
        session_partitions=config.trio_fetch_session_max_partitions,
        yield_point=node.yield_point,
        assign=node[Lifecycle].assign_directories,
        moves_at_once=config.num_replica_alter_log_dirs_threads,
    )
    replicas.moves.pausing = node[LogCleaner].states.paused
    return replicas


async def _answer_parked(node: Node) -> None:
    """Answer parked requests with the data that is available.

    Queued appends of slow directories get half of the time left.
    """
    replicas = node[ReplicaManager]
    replicas.fetch.close()
    replicas.deletions.close()
    left_s = trio.current_effective_deadline() - trio.current_time()
    try:
        with trio.move_on_after(max(left_s, 0.0) / 2):
            await replicas.queued_appends.wait_empty()
    finally:
        replicas.produce.close()


REPLICAS: Final = Part(
    kind=ReplicaManager,
    open=_open,
    stops={Stage.NETWORK: _answer_parked, Stage.REPLICATION: tasks_end(_TASK)},
    step="replication",
)
