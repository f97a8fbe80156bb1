"""Group coordinator of a broker, for handlers, metrics and the tree.

A group belongs to one partition of `__consumer_offsets`, by the hash of its id, and to the leader
of that partition. The coordinator has the shards of the partitions that this broker leads; each
request is an event of one shard. The topic is created when the first client asks for a coordinator.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NoReturn
from uuid import UUID

import trio

from trio_kafka.attributes import frozen
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.coordinators.groups.administration import (
    GroupFilter,
    ListedGroup,
    delete_group,
    list_groups,
)
from trio_kafka.coordinators.groups.classic.submachine import ClassicGroups, simple_group
from trio_kafka.coordinators.groups.consumer.regex_search import Search
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.services import ClassicService, ConsumerService, OffsetsService
from trio_kafka.coordinators.groups.settings import (
    GroupSettings,
    group_settings,
    own_group_settings,
)
from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.coordinators.groups.topic_searches import RunInThread, TopicSearches
from trio_kafka.coordinators.shards.coordinator import Coordinator
from trio_kafka.coordinators.shards.owned_topic import OwnedTopic
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.coordinators.shards.runtime import ShardDependencies, ShardRuntime
from trio_kafka.coordinators.shards.shard import Shard
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.pending import Eventual
from trio_kafka.purgatory import Purgatory

# Waits for other members, which their sessions and rebalance timeouts bound.
FOR_MEMBERS: Final = ("JoinGroup", "SyncGroup")
PURGATORIES: Final = (
    *FOR_MEMBERS,
    "Heartbeat",
    "LeaveGroup",
    "DescribeGroups",
    "ListGroups",
    "DeleteGroups",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupDescribe",
    "OffsetCommit",
    "OffsetFetch",
    "TxnOffsetCommit",
    "WriteTxnMarkers",
)


@frozen(kw_only=True)
class GroupDependencies:
    """Parts that the coordinator is built with. shards: those of its shards. create_topic: have
    `__consumer_offsets` created. random_bytes: source of ids. run_in_thread: World's.
    """

    shards: ShardDependencies
    create_topic: Callable[[], None]
    random_bytes: Callable[[int], bytes]
    run_in_thread: RunInThread


class GroupCoordinator:
    """Coordinates the groups whose partitions are led here.

    topic: finds the coordinator of a group. runtime: the shards. coordinator: asks them. classic,
    consumer: requests of members, by protocol. offsets: requests for offsets. searches: of topics,
    by regular expression. settings: of groups without settings of their own. own_settings: of
    groups with them. wall: returns the time, in seconds since 1970.
    """

    def __init__(self, config: BrokerConfig, dependencies: GroupDependencies, node: Node) -> None:
        self.settings = group_settings(config)
        self.own_settings: dict[str, GroupSettings] = {}
        self._config = config
        self._random_bytes = dependencies.random_bytes
        self.wall = dependencies.shards.clock.wall
        node = node.add("group-coordinator", "part", self._figures)
        shards = dependencies.shards
        self.runtime = ShardRuntime(
            CONSUMER_OFFSETS, GROUP_RECORDS, self._groups, dependencies=shards, node=node
        )
        self.topic = OwnedTopic(
            self.runtime,
            new_count=config.offsets_topic_num_partitions,
            create=dependencies.create_topic,
        )
        self.coordinator = Coordinator(
            self.topic,
            self.runtime,
            purgatories={name: Purgatory(name, shards.timers, node) for name in PURGATORIES},
            unbounded=FOR_MEMBERS,
            timeout_s=self.settings.offsets_commit_timeout_s,
        )
        self.classic = ClassicService(self.coordinator, self.settings)
        self.offsets = OffsetsService(self.coordinator)
        self.searches = TopicSearches(
            dependencies.run_in_thread,
            node,
            elapsed=shards.clock.elapsed,
            done=self._search_ended,
        )
        self.consumer = ConsumerService(
            self.coordinator,
            self.settings,
            random_bytes=self._random_bytes,
            searches=self.searches,
        )

    def _search_ended(self, search: Search) -> None:
        self.consumer.search_ended(search)

    def _groups(self) -> Groups:
        return Groups(
            (ClassicGroups, self.consumer.submachine),
            simple=simple_group,
            settings=self.settings,
            own_settings=self.own_settings,
        )

    # Groups

    def new_id(self) -> str:
        """Return a UUID, the end of a new member's id."""
        return str(UUID(bytes=self._random_bytes(16), version=4))

    def list_groups(self, chosen: GroupFilter) -> Eventual[list[list[ListedGroup] | KafkaError]]:
        """List the groups of each shard, or its error if it is loading; see
        `administration.list_groups`.
        """
        return self.coordinator.ask_everywhere(partial(list_groups, chosen), "ListGroups")

    def delete_groups(self, group_ids: Sequence[str]) -> Eventual[list[KafkaError | None]]:
        """Delete groups, see `administration.delete_group`; as `Coordinator.ask_many`."""
        events = ((name, partial(delete_group, name)) for name in group_ids)
        return self.coordinator.ask_many(events, "DeleteGroups")

    @property
    def machines(self) -> list[Groups]:
        """Machines of all active shards, for inspection."""
        return [shard.machine for shard in self.active_shards]

    @property
    def active_shards(self) -> list[Shard[Groups]]:
        """Shards that are loaded and serve, for inspection."""
        shards = self.runtime.shards.values()
        return [shard for shard in shards if shard.state is ShardState.ACTIVE]

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
        self.settings = self.classic.settings = self.consumer.settings = settings
        self.coordinator.timeout_s = settings.offsets_commit_timeout_s
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
                settings = own_group_settings(self._config, self.settings, own)
                self.own_settings[name] = settings
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
