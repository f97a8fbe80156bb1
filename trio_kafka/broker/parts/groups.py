"""The group coordinator as a part of the broker."""

from typing import Final

from trio_kafka.broker.parts.quorum import Metadata
from trio_kafka.broker.parts.topic_creation import TopicCreation
from trio_kafka.broker.site import Site
from trio_kafka.coordinators.batch_accumulator import Batching
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.coordinators.runtime import CoordinatorDependencies
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.purgatory import Timers
from trio_kafka.records.compression import Codec
from trio_kafka.replication.manager import ReplicaManager

# The task.
GROUPS: Final = "group-coordinator"


def make_groups(
    site: Site, replicas: ReplicaManager, timers: Timers, creation: TopicCreation
) -> GroupCoordinator:
    """It serves nobody before `start_groups`."""
    dependencies = CoordinatorDependencies(
        broker=site.node_id,
        replicas=replicas,
        timers=timers,
        clock=site.world.clock,
        random_bytes=site.world.random_bytes,
        buffer=site.config.offsets_load_buffer_size,
        codec=Codec(site.config.offsets_topic_compression_codec),
        batching=Batching(site.config.group_coordinator_append_linger_ms, site.rounds),
    )
    return GroupCoordinator(
        site.config, dependencies, site.node, lambda: creation.want([CONSUMER_OFFSETS])
    )


async def start_groups(
    site: Site, groups: GroupCoordinator, metadata: Metadata, dynamic: DynamicSettings
) -> None:
    """Behind the replicas: a shard needs its partition. Loading goes on beside everything else."""
    # No checkpoint between these two: no image may come between.
    groups.start(metadata.cache.image)
    metadata.loader.add(groups)
    dynamic.follow(groups.obey)
    await site.tasks.start(GROUPS, groups.run)
