"""The group coordinator as a part of the broker."""

from typing import Final

from trio_kafka.broker.build_context import BuildContext
from trio_kafka.broker.parts.quorum import Metadata
from trio_kafka.broker.parts.topic_creation import TopicCreation
from trio_kafka.coordinators.batch_accumulator import Batching
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.coordinators.runtime import CoordinatorDependencies
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.records.compression import Codec
from trio_kafka.replication.manager import ReplicaManager

# Task name.
GROUPS: Final = "group-coordinator"


def make_groups(
    context: BuildContext, replicas: ReplicaManager, creation: TopicCreation
) -> GroupCoordinator:
    """Make the group coordinator; it serves no requests before `start_groups`."""
    dependencies = CoordinatorDependencies(
        broker=context.node_id,
        replicas=replicas,
        timers=context.timers,
        clock=context.world.clock,
        random_bytes=context.world.random_bytes,
        run_in_thread=context.world.run_in_thread,
        buffer=context.config.offsets_load_buffer_size,
        codec=Codec(context.config.offsets_topic_compression_codec),
        batching=Batching(context.config.group_coordinator_append_linger_ms, context.deferred),
    )
    return GroupCoordinator(
        context.config, dependencies, context.node, lambda: creation.want([CONSUMER_OFFSETS])
    )


async def start_groups(
    context: BuildContext, groups: GroupCoordinator, metadata: Metadata, dynamic: DynamicSettings
) -> None:
    """Start the coordinator after the replicas: a shard needs its partition. Loading runs
    concurrently.
    """
    # No checkpoint between the next two statements: no image may be published in between.
    groups.start(metadata.cache.image)
    metadata.loader.add(groups)
    dynamic.follow(groups.obey)
    await context.tasks.start(GROUPS, groups.run)
