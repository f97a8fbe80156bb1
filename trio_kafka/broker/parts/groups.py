"""The group coordinator as a part of the node."""

from typing import Final

import trio

from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.broker.parts.topic_creation import TopicCreation
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator, GroupDependencies
from trio_kafka.coordinators.shards.batch_accumulator import Batching
from trio_kafka.coordinators.shards.runtime import ShardDependencies
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.metadata.publisher import Loader
from trio_kafka.purgatory import Timers
from trio_kafka.records.compression import Codec
from trio_kafka.replication.leader.markers import LocalMarkers
from trio_kafka.replication.table import Replicas

# Task name.
GROUPS_TASK: Final = "group-coordinator"
# Topics, racks of brokers, features, and settings of groups.
FOLLOWED: Final = ("topics", "deleted_topics", "brokers", "features", "group_configs")


async def _open(node: Node) -> GroupCoordinator:
    """Start the coordinator after the replicas: a shard needs its partition. Loading runs
    concurrently.
    """
    groups, loader = _make(node), node[Loader]
    # No checkpoint between the next two statements: no image may be published in between.
    groups.start(loader.image)
    loader.add(groups, *FOLLOWED)
    node[DynamicSettings].follow(groups.obey)
    node[LocalMarkers].end_offsets = groups.offsets.end_transaction
    await node.tasks.start(GROUPS_TASK, groups.run)
    return groups


def _make(node: Node) -> GroupCoordinator:
    shards = ShardDependencies(
        broker=node.node_id,
        find_partition=node[Replicas].find,
        timers=node[Timers],
        clock=node.world.clock,
        buffer=node.config.offsets_load_buffer_size,
        compression=Codec(node.config.offsets_topic_compression_codec),
        batching=Batching(node.config.group_coordinator_append_linger_ms, node.deferred),
    )
    dependencies = GroupDependencies(
        shards=shards,
        create_topic=lambda: node[TopicCreation].want([CONSUMER_OFFSETS]),
        random_bytes=node.world.random_bytes,
        run_in_thread=node.world.run_in_thread,
    )
    return GroupCoordinator(node.config, dependencies, node.tree)


async def _answer_parked(node: Node) -> None:
    await trio.lowlevel.checkpoint()
    node[GroupCoordinator].stop()


GROUPS: Final = Part(
    kind=GroupCoordinator,
    open=_open,
    stops={Stage.NETWORK: _answer_parked, Stage.COORDINATORS: tasks_end(GROUPS_TASK)},
    step="replication",
)
