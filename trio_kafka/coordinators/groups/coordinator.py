"""Group coordinator of a broker, `context.groups`: used by handlers, metrics and the tree.

A group belongs to one partition of `__consumer_offsets`, by the hash of its id, and to the leader
of that partition. The coordinator has the shards of the partitions that this broker leads; each
request is an event of one shard. The topic is created when the first client asks for a coordinator.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NoReturn
from uuid import UUID

import trio

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.coordinators.groups.administration import (
    GroupFilter,
    ListedGroup,
    delete_group,
    list_groups,
)
from trio_kafka.coordinators.groups.classic.submachine import ClassicGroups, simple_group
from trio_kafka.coordinators.groups.consumer.regex_search import Search
from trio_kafka.coordinators.groups.groups import Event, Groups
from trio_kafka.coordinators.groups.java_compat import partition_of
from trio_kafka.coordinators.groups.services import ClassicService, ConsumerService, OffsetsService
from trio_kafka.coordinators.groups.settings import (
    GroupSettings,
    group_settings,
    own_group_settings,
)
from trio_kafka.coordinators.groups.submitter import Submitter
from trio_kafka.coordinators.groups.topic_searches import TopicSearches
from trio_kafka.coordinators.protocols import ShardState
from trio_kafka.coordinators.runtime import CoordinatorDependencies, ShardRuntime
from trio_kafka.coordinators.shard import Shard
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.model import NO_NODE, NodeId
from trio_kafka.pending import Eventual


class GroupCoordinator:
    """Coordinates the groups whose partitions are led here.

    runtime: the shards. submitter: of their events. classic, consumer: requests of members, by
    protocol. offsets: requests for offsets. searches: of topics, by regular expression.
    own_settings: of groups with settings of their own.
    """

    def __init__(
        self,
        config: BrokerConfig,
        dependencies: CoordinatorDependencies,
        node: Node,
        want_topic: Callable[[], None],
    ) -> None:
        """want_topic: have `__consumer_offsets` created."""
        self.own_settings: dict[str, GroupSettings] = {}
        self._config = config
        self._dependencies = dependencies
        self._want_topic = want_topic
        node = node.add("group-coordinator", "part", self._figures)
        self.runtime = ShardRuntime(CONSUMER_OFFSETS, self._groups, dependencies, node)
        self.submitter = Submitter(
            self.shard_of, self.runtime.shards, group_settings(config), dependencies.timers, node
        )
        self.classic = ClassicService(self.submitter)
        self.offsets = OffsetsService(self.submitter)
        self.searches = TopicSearches(
            dependencies.run_in_thread,
            dependencies.clock.elapsed,
            node,
            self._search_ended,
        )
        self.consumer = ConsumerService(self.submitter, dependencies.random_bytes, self.searches)

    def _search_ended(self, search: Search) -> None:
        self.consumer.search_ended(search)

    def _groups(self) -> Groups:
        return Groups(
            (ClassicGroups, self.consumer.submachine),
            simple=simple_group,
            settings=self.submitter.settings,
            own_settings=self.own_settings,
        )

    # Where groups are

    def partition_of(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` of a group. The partition count is that of
        the topic when it was first seen.
        """
        count = self.runtime.count or self._config.offsets_topic_num_partitions
        return partition_of(group_id, count)

    def leader_of(self, group_id: str) -> NodeId:
        """Return the broker that coordinates a group.

        Raises KafkaError(COORDINATOR_NOT_AVAILABLE) if the partition has no leader. A missing topic
        is created meanwhile.
        """
        topic = self.runtime.image.topics.get(CONSUMER_OFFSETS)
        if topic is None:
            self._want_topic()
        else:
            state = topic.partitions.get(self.partition_of(group_id))
            if state is not None and state.leader != NO_NODE:
                return state.leader
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def shard_of(self, group_id: str) -> Shard[Groups]:
        """Return the shard of a group. Raises KafkaError(NOT_COORDINATOR) if it is led
        elsewhere.
        """
        runtime = self.runtime
        count = runtime.count or self._config.offsets_topic_num_partitions
        shard = runtime.shards.get(partition_of(group_id, count))
        if shard is None:
            if runtime.count is None:
                self._want_topic()
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return shard

    # Groups

    def new_id(self) -> str:
        """Return a UUID, the end of a new member's id."""
        return str(UUID(bytes=self._dependencies.random_bytes(16), version=4))

    def list_groups(self, wanted: GroupFilter) -> Eventual[list[list[ListedGroup] | KafkaError]]:
        """List the groups of all shards, see `administration.list_groups`."""
        event = partial(list_groups, wanted)
        return self.submitter.submit_everywhere("ListGroups", event)

    def delete_groups(self, group_ids: Sequence[str]) -> Eventual[list[KafkaError | None]]:
        """Delete groups, see `administration.delete_group`; as `Submitter.submit_many`."""
        events: Iterator[tuple[str, Event]] = (
            (name, partial(delete_group, name)) for name in group_ids
        )
        return self.submitter.submit_many("DeleteGroups", events)

    @property
    def machines(self) -> list[Groups]:
        """Machines of all active shards, for inspection."""
        shards = self.runtime.shards.values()
        return [shard.machine for shard in shards if shard.state is ShardState.ACTIVE]

    # Life

    def start(self, image: MetadataImage) -> None:
        """Take over the first image."""
        self._follow_settings(image, image.configs)
        self.consumer.follow(image)
        self.runtime.start(image)

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterator[None]:
        """Take over changed metadata. Partitions must have taken them over before."""
        if delta.configs:
            self._follow_settings(image, delta.configs)
        if delta.features:
            self.consumer.follow(image)
        return self.runtime.publish(delta, image)

    def obey(self, config: BrokerConfig) -> None:
        """Take over changed settings of the broker."""
        self._config, settings = config, group_settings(config)
        self.submitter.settings = settings
        for shard in self.runtime.shards.values():
            shard.machine.settings = settings
        image = self.runtime.image
        self.consumer.follow(image)
        self._follow_settings(
            image, [(ConfigResourceType.GROUP, name) for name in self.own_settings]
        )

    def _follow_settings(self, image: MetadataImage, changed: Iterable[tuple[int, str]]) -> None:
        for kind, name in changed:
            if kind != ConfigResourceType.GROUP:
                continue
            own = image.config(ConfigResourceType.GROUP, name)
            if own:
                made = own_group_settings(self._config, self.submitter.settings, own)
                self.own_settings[name] = made
            else:
                self.own_settings.pop(name, None)

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Load and serve, until cancelled."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self.searches.run, name="topic searches")
            await self.runtime.run(task_status=task_status)

    def stop(self) -> None:
        """Stop serving. Pending requests are answered with NOT_COORDINATOR."""
        self.runtime.stop()

    def _figures(self) -> Figures:
        machines = self.machines
        return {
            **self.runtime.figures(),
            "groups": sum(len(machine.by_id) for machine in machines),
            "offsets": sum(machine.offsets.count for machine in machines),
        }
