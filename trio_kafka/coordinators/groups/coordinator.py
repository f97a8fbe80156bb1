"""Group coordinator of a broker, `context.groups`: used by handlers, metrics and the tree.

A group belongs to one partition of `__consumer_offsets`, by the hash of its id, and to the leader
of that partition. The coordinator has the shards of the partitions that this broker leads; each
request is an event of one shard. The topic is created when the first client asks for a coordinator.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from math import inf
from types import GeneratorType
from typing import Any, Final, NoReturn, TypeVar
from uuid import UUID

import trio

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.coordinators.groups.administration import (
    GroupFilter,
    ListedGroup,
    delete_group,
    list_groups,
)
from trio_kafka.coordinators.groups.classic.service import ClassicService
from trio_kafka.coordinators.groups.classic.submachine import ClassicGroups, simple_group
from trio_kafka.coordinators.groups.consumer.service import ConsumerService
from trio_kafka.coordinators.groups.groups import Event, Groups
from trio_kafka.coordinators.groups.java_compat import partition_of
from trio_kafka.coordinators.groups.lag import Lag, ends_of, lags
from trio_kafka.coordinators.groups.offsets_service import COMMITS, LOOKUPS, OffsetsService
from trio_kafka.coordinators.groups.settings import (
    GroupSettings,
    group_settings,
    own_group_settings,
)
from trio_kafka.coordinators.pending_reply import (
    NOT_YET,
    PendingReply,
    deferred_reply,
    joint_reply,
    value_or_raise,
)
from trio_kafka.coordinators.protocols import ShardState
from trio_kafka.coordinators.runtime import CoordinatorDependencies, ShardRuntime
from trio_kafka.coordinators.shard import Shard
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.model import NO_NODE, NodeId
from trio_kafka.purgatory import Purgatory
from trio_kafka.scheduling.chunked_work import Steps, in_slices

T = TypeVar("T")
_AT_ONCE: Final = 100  # groups of one request that are asked in one step: 1 ms
_A_STEP: Final = 10
PURGATORIES: Final = (  # names of purgatories
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "DescribeGroups",
    "ListGroups",
    "DeleteGroups",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupDescribe",
    COMMITS,
    LOOKUPS,
)


class GroupCoordinator:
    """Coordinates the groups whose partitions are led here.

    runtime: the shards. settings: of groups without settings of their own. classic, consumer:
    requests of members, by protocol. offsets: requests for offsets. timeout_s: bound of a wait for
    the log alone. purgatories: by the names of PURGATORIES.
    """

    def __init__(
        self,
        config: BrokerConfig,
        dependencies: CoordinatorDependencies,
        node: Node,
        want_topic: Callable[[], None],
    ) -> None:
        """want_topic: have `__consumer_offsets` created."""
        self.settings = group_settings(config)
        self.own_settings: dict[str, GroupSettings] = {}
        self.timeout_s = config.offsets_commit_timeout_ms / 1000
        self._config = config
        self._dependencies = dependencies
        self._want_topic = want_topic
        self._node = node.add("group-coordinator", "part", self._figures)
        self.purgatories = {
            wait: Purgatory(wait, dependencies.timers, self._node) for wait in PURGATORIES
        }
        self.classic = ClassicService(self)
        self.offsets = OffsetsService(self)
        self.consumer = ConsumerService(self, dependencies.random_bytes)
        self.runtime = ShardRuntime(CONSUMER_OFFSETS, self._groups, dependencies, self._node)

    def _groups(self) -> Groups:
        return Groups(
            (ClassicGroups, self.consumer.submachine),
            simple=simple_group,
            settings=self.settings,
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

    # Requests

    def submit(
        self,
        wait: str,
        group_id: str,
        event: Event,
        make: Callable[[Any], T],
        *,
        timeout_s: float = inf,
    ) -> Any:
        """See `Submitter`. wait: one of PURGATORIES.

        Raises KafkaError: an error of the machine, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR,
        COORDINATOR_NOT_AVAILABLE (also after the timeout).
        """
        reply = self.shard_of(group_id).ask(event)
        return self._answer(wait, reply, partial(value_or_raise, make), timeout_s)

    def submit_told(
        self,
        wait: str,
        group_id: str,
        event: Event,
        make: Callable[[Any], T],
        *,
        timeout_s: float = inf,
    ) -> Any:
        """See `Submitter`."""
        return self._answer(wait, self._ask(group_id, event), make, timeout_s)

    def _answer(
        self, wait: str, reply: PendingReply, make: Callable[[Any], T], timeout_s: float
    ) -> Any:
        if reply.answer is not NOT_YET:
            return make(reply.answer)
        return deferred_reply(reply, make, self.purgatories[wait], timeout_s)

    def submit_many(
        self,
        wait: str,
        events: Iterable[tuple[str, Event]],
        make: Callable[[list[Any]], T],
        *,
        timeout_s: float = inf,
    ) -> Any:
        """See `Submitter`."""
        rest = iter(events)
        tickets = [self._ask(group_id, event) for group_id, event in islice(rest, _AT_ONCE)]
        if len(tickets) == _AT_ONCE:
            return self._submit_rest(wait, tickets, rest, make, timeout_s)
        return joint_reply(tickets, make, self.purgatories[wait], timeout_s)

    def _submit_rest(
        self,
        wait: str,
        tickets: list[PendingReply],
        rest: Iterable[tuple[str, Event]],
        make: Callable[[list[Any]], T],
        timeout_s: float,
    ) -> Steps[Any]:
        for some in in_slices(rest, _A_STEP):
            yield
            tickets += [self._ask(group_id, event) for group_id, event in some]
        yield
        answer = joint_reply(tickets, make, self.purgatories[wait], timeout_s)
        return (yield from answer) if isinstance(answer, GeneratorType) else answer

    def submit_everywhere(
        self, wait: str, event: Event, make: Callable[[list[Any]], T], *, timeout_s: float = inf
    ) -> Any:
        """Submit an event to every shard; `make` gets all answers, errors of loading shards
        included.
        """
        tickets = [shard.ask(event) for shard in self.runtime.shards.values()]
        return joint_reply(tickets, make, self.purgatories[wait], timeout_s)

    def _ask(self, group_id: str, event: Event) -> PendingReply:
        try:
            return self.shard_of(group_id).ask(event)
        except KafkaError as error:
            return PendingReply(error.as_value())

    # Groups

    def new_id(self) -> str:
        """Return a UUID, the end of a new member's id."""
        return str(UUID(bytes=self._dependencies.random_bytes(16), version=4))

    def list_groups(
        self, wanted: GroupFilter, make: Callable[[list[list[ListedGroup] | KafkaError]], T]
    ) -> Any:
        """List the groups of all shards, see `administration.list_groups`."""
        event = partial(list_groups, wanted)
        return self.submit_everywhere("ListGroups", event, make, timeout_s=self.timeout_s)

    def delete_groups(
        self, group_ids: Sequence[str], make: Callable[[list[KafkaError | None]], T]
    ) -> Any:
        """Delete groups, see `administration.delete_group`; as `submit_many`."""
        events: Iterator[tuple[str, Event]] = (
            (name, partial(delete_group, name)) for name in group_ids
        )
        return self.submit_many("DeleteGroups", events, make, timeout_s=self.timeout_s)

    def lags(self, group_id: str) -> list[Lag]:
        """Return the lags of a group, as far as this broker knows. Raises KafkaError as
        `shard_of`.
        """
        machine = self.shard_of(group_id).machine
        return list(lags(machine, group_id, ends_of(self._dependencies.replicas)))

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
        self._config, self.settings = config, group_settings(config)
        self.timeout_s = config.offsets_commit_timeout_ms / 1000
        for shard in self.runtime.shards.values():
            shard.machine.settings = self.settings
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
                made = own_group_settings(self._config, self.settings, own)
                self.own_settings[name] = made
            else:
                self.own_settings.pop(name, None)

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Load and serve, until cancelled."""
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
