"""Controller: the single writer of the cluster's metadata.

Decisions are plain functions of the current state, one module for each kind. `executor` writes them
and returns when the result is committed and published.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import NoReturn

import trio

from trio_kafka.attributes import frozen
from trio_kafka.controller import (
    acls,
    brokers,
    configs,
    directories,
    elections,
    features,
    producer_ids,
    quotas,
    scram,
    tokens,
    topics,
)
from trio_kafka.controller.bootstrap import first_records
from trio_kafka.controller.configs import ConfigChanges, Lists, Validator
from trio_kafka.controller.decision import ControllerSettings, Decision
from trio_kafka.controller.executor import Executor
from trio_kafka.controller.fencing import Fencing
from trio_kafka.controller.policies import ConfigApproval, Policies, approved
from trio_kafka.controller.topics import Charge, free_of_charge
from trio_kafka.controller.writer import Writer, collision_keys_of
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.metadata.image import (
    ConfigResource,
    ControllerRegistration,
    MetadataImage,
    QuotaEntity,
    TopicImage,
)
from trio_kafka.metadata.publisher import Loader
from trio_kafka.metadata.source import MetadataSource
from trio_kafka.model import NodeId, TopicId, TopicPartition
from trio_kafka.protocol.stored.metadata.security import DelegationTokenRecord
from trio_kafka.scheduling.loop_budget import in_steps
from trio_kafka.security.acls.entries import Acl
from trio_kafka.security.acls.filters import AclFilter
from trio_kafka.security.principal import ANONYMOUS


@frozen(kw_only=True)
class DecisionRules:
    """Inputs of decisions from outside. lists: static values of settings that are lists."""

    settings: ControllerSettings
    validate: Validator
    lists: Lists
    randomness: topics.Randomness


class Controller:
    """Controller of one node. `run` must run; any task may make the other calls at any time.

    policies: asked about new topics and changed settings.
    """

    def __init__(
        self,
        source: MetadataSource,
        loader: Loader,
        *,
        me: ControllerRegistration,
        rules: DecisionRules,
        node: Node,
    ) -> None:
        self.policies = Policies()
        self._source = source
        self._loader = loader
        self._me = me
        self._rules = rules
        self._node = node
        self._writer = Writer(source)
        self._executor = Executor(source, loader, self._writer)
        self._fencing = Fencing(self._writer, rules.settings, me.id)

    @property
    def epoch(self) -> int:
        """Epoch in which this node is the active controller; -1 if it is not."""
        return self._writer.epoch

    # Run.

    async def run(
        self, *, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Be the active controller once elected, until cancelled; started with the epoch."""
        with self._node.child("quorum-controller", "task", self._figures):
            try:
                epoch = await self._source.elect()
                await self._loader.wait_published(self._source.next_offset)
                self._writer.take_over(epoch, *await self._image_with_indexes())
                await self._begin()
                task_status.started(epoch)
                await self._fencing.run()
            finally:
                self._writer.resign()

    async def _image_with_indexes(self) -> tuple[MetadataImage, dict[str, str], dict[Acl, bytes]]:
        """Return the current image, the collision keys of its topics and its ACLs, in steps."""
        while True:
            image = self._loader.image
            collision_keys = await in_steps(collision_keys_of(image.topics))
            present_acls = await in_steps(acls.ids_by_acl(image.acls.values()))
            if image is self._loader.image:
                return image, collision_keys, present_acls

    async def _begin(self) -> None:
        """Write the first records of an active controller."""
        for records in first_records(
            self._present,
            self._source.bootstrap(),
            me=self._me,
            settings=self._rules.settings,
        ):
            await self._writer.write(partial(Decision, None, records))
        await self._executor.settle(self._present.offset)

    # Topics.

    async def create_topics(
        self,
        new_topics: Sequence[topics.NewTopic],
        *,
        deadline: float = inf,
        validate_only: bool = False,
        charge: Charge = free_of_charge,
        principal: str = ANONYMOUS,
    ) -> dict[str, topics.CreatedTopic | KafkaError]:
        """Create topics independently; return the created topic or the error by name.

        deadline: by Trio's clock. validate_only: decide, but write nothing. charge: called with
        the number of partitions of each valid topic; raises KafkaError for too many.
        principal: passed to policies.
        """
        approvals = self.policies.approvals(principal)

        def decide(topic: topics.NewTopic) -> Decision[topics.CreatedTopic]:
            return topics.create_topic(
                self._present,
                self._writer.collision_keys,
                topic,
                settings=self._rules.settings,
                validate=self._rules.validate,
                randomness=self._rules.randomness,
                charge=charge,
                approvals=approvals,
            )

        return await self._executor.each(
            ((topic.name, partial(decide, topic)) for topic in new_topics),
            deadline,
            validate_only=validate_only,
        )

    async def create_partitions(
        self,
        new_partitions: Mapping[str, topics.NewPartitions],
        *,
        deadline: float = inf,
        validate_only: bool = False,
        charge: Charge = free_of_charge,
    ) -> dict[str, KafkaError | None]:
        """Add partitions to topics.

        new_partitions: by name of the topic. charge: as in `create_topics`, for the new partitions.
        """

        def decide(name: str, new: topics.NewPartitions) -> Decision[None]:
            choose = self._rules.randomness.choose
            return topics.create_partitions(self._present, name, new, choose=choose, charge=charge)

        return await self._executor.each(
            ((name, partial(decide, name, new)) for name, new in new_partitions.items()),
            deadline,
            validate_only=validate_only,
        )

    async def delete_topics(
        self,
        names_or_ids: Sequence[str | TopicId],
        *,
        deadline: float = inf,
        charge: Charge = free_of_charge,
    ) -> dict[str | TopicId, TopicImage | KafkaError]:
        """Delete topics by name or id; return the deleted topic or the error of each.

        charge: as in `create_topics`, for the deleted partitions.
        """

        def decide(name_or_id: str | TopicId) -> Decision[TopicImage]:
            return topics.delete_topic(
                self._present, name_or_id, settings=self._rules.settings, charge=charge
            )

        return await self._executor.each(
            ((name_or_id, partial(decide, name_or_id)) for name_or_id in names_or_ids), deadline
        )

    # Settings.

    async def alter_configs(
        self,
        changes: Mapping[ConfigResource, ConfigChanges],
        *,
        deadline: float = inf,
        validate_only: bool = False,
        principal: str = ANONYMOUS,
    ) -> dict[ConfigResource, KafkaError | None]:
        """Change settings of resources, each resource independently.

        principal: passed to policies.
        """
        approve = self.policies.approvals(principal).configs
        return await self._executor.each(
            (
                (resource, partial(self._decide_configs, resource, its_changes, approve))
                for resource, its_changes in changes.items()
            ),
            deadline,
            validate_only=validate_only,
        )

    def configs_after(self, resource: ConfigResource, changes: ConfigChanges) -> Mapping[str, str]:
        """Return the settings that a resource would have after a change.

        Policies are not asked. Raises KafkaError for an invalid change.
        """
        decision = self._decide_configs(resource, changes, approved)
        return configs.after(self._present, resource, decision)

    def _decide_configs(
        self, resource: ConfigResource, changes: ConfigChanges, approve: ConfigApproval
    ) -> Decision[None]:
        return configs.change_configs(
            self._writer.present,
            resource,
            changes,
            validate=self._rules.validate,
            lists=self._rules.lists,
            approve=approve,
        )

    async def alter_quotas(
        self,
        changes: Sequence[quotas.QuotaChange],
        *,
        deadline: float = inf,
        validate_only: bool = False,
    ) -> dict[QuotaEntity, KafkaError | None]:
        """Change client quotas, each entity independently."""

        def decide(change: quotas.QuotaChange) -> Decision[None]:
            return quotas.alter_quotas(self._present, change)

        return await self._executor.each(
            ((change.entity, partial(decide, change)) for change in changes),
            deadline,
            validate_only=validate_only,
        )

    async def create_acls(self, new_acls: Sequence[Acl], *, deadline: float = inf) -> acls.Created:
        """Create access control entries; return an error or None for each. Raises KafkaError."""

        def decide() -> Decision[acls.Created]:
            random_bytes = self._rules.randomness.random_bytes
            return acls.create_acls(self._present, self._writer.acls, new_acls, random_bytes)

        return await self._executor.decide(decide, deadline)

    async def delete_acls(
        self, filters: Sequence[AclFilter], *, deadline: float = inf
    ) -> acls.Deleted:
        """Remove access control entries; return those of each filter, or its error.

        Raises KafkaError.
        """
        return await self._executor.decide(
            lambda: acls.delete_acls(self._writer.acls, filters), deadline
        )

    async def alter_scram(
        self, changes: Sequence[scram.ScramChange], *, deadline: float = inf
    ) -> scram.Altered:
        """Store and remove SCRAM credentials; return an error or None for each user."""
        return await self._executor.decide(
            lambda: scram.alter_scram(self._present, changes), deadline
        )

    async def create_token(
        self, new: tokens.NewToken, *, deadline: float = inf
    ) -> DelegationTokenRecord:
        """Make a delegation token. Raises KafkaError."""
        return await self._executor.decide(
            lambda: tokens.create_token(self._present, new, self._rules.settings), deadline
        )

    async def renew_token(self, change: tokens.TokenChange, *, deadline: float = inf) -> int:
        """Let a delegation token live longer; return its expiry in ms. Raises KafkaError."""
        return await self._executor.decide(
            lambda: tokens.renew_token(self._present, change, self._rules.settings), deadline
        )

    async def expire_token(self, change: tokens.TokenChange, *, deadline: float = inf) -> int:
        """Let a delegation token end; return its expiry in ms. Raises KafkaError."""
        return await self._executor.decide(
            lambda: tokens.expire_token(self._present, change), deadline
        )

    async def remove_expired_tokens(self, now_ms: float, *, deadline: float = inf) -> None:
        """Remove the delegation tokens that have ended. Raises KafkaError."""
        await self._executor.decide(lambda: tokens.remove_expired(self._present, now_ms), deadline)

    async def update_features(
        self,
        changes: Sequence[features.FeatureChange],
        *,
        deadline: float = inf,
        validate_only: bool = False,
    ) -> None:
        """Change levels of features, all or none. Raises KafkaError."""

        def decide() -> Decision[None]:
            levels = features.Levels(
                image=self._present, kraft=self._source.kraft_version, me=self._me.id
            )
            return features.update_features(levels, changes, self._rules.settings)

        await self._executor.decide(decide, deadline, validate_only=validate_only)

    # Brokers.

    async def register_broker(self, broker: brokers.NewBroker, *, deadline: float = inf) -> int:
        """Register a broker; return its epoch. Raises KafkaError as `brokers.register`."""

        def decide() -> Decision[int]:
            registration = brokers.register(
                self._present,
                broker,
                offset=self._source.next_offset,
                alive=self._fencing.alive(broker.id),
                settings=self._rules.settings,
            )
            self._fencing.touch(broker.id)
            return registration

        return await self._executor.decide(decide, deadline)

    async def unregister_broker(self, broker_id: NodeId, *, deadline: float = inf) -> None:
        """Remove a broker. Raises KafkaError as `brokers.unregister`."""

        def decide() -> Decision[None]:
            alive = broker_id == self._me.id or self._fencing.alive(broker_id)
            return brokers.unregister(
                self._present, broker_id, alive=alive, settings=self._rules.settings
            )

        await self._executor.decide(decide, deadline)

    async def elect_leaders(
        self, partitions: Iterable[TopicPartition], *, unclean: bool, deadline: float = inf
    ) -> dict[TopicPartition, KafkaError | None]:
        """Elect leaders, of each partition independently. Errors as `elections.elect`."""

        def decide(at: TopicPartition) -> Decision[None]:
            return elections.elect(self._present, at, unclean=unclean)

        return await self._executor.each(((at, partial(decide, at)) for at in partitions), deadline)

    async def heartbeat(
        self, beat: brokers.Heartbeat, *, deadline: float = inf
    ) -> brokers.HeartbeatAnswer:
        """Process the heartbeat of a broker. Raises KafkaError as `brokers.check_epoch`."""

        def decide() -> Decision[brokers.HeartbeatAnswer]:
            decision = brokers.heartbeat(self._present, beat, self._rules.settings)
            if decision.result.fenced and beat.want_shutdown:
                self._fencing.forget(beat.broker_id)
            else:
                self._fencing.touch(beat.broker_id)
            return decision

        return await self._executor.decide(decide, deadline)

    async def allocate_producer_ids(
        self, broker_id: NodeId, epoch: int, *, deadline: float = inf
    ) -> producer_ids.ProducerIdBlock:
        """Return an unused block of producer ids. Raises KafkaError as `brokers.check_epoch`."""
        return await self._executor.decide(
            lambda: producer_ids.allocate(self._present, broker_id, epoch), deadline
        )

    async def assign_directories(
        self,
        broker_id: NodeId,
        epoch: int,
        assignments: Mapping[tuple[TopicId, int], bytes],
        *,
        deadline: float = inf,
    ) -> dict[tuple[TopicId, int], KafkaError | None]:
        """Set directories of a broker's replicas, by topic id and partition."""

        def decide(replica: tuple[TopicId, int], directory: bytes) -> Decision[None]:
            return directories.assign_directory(
                self._present,
                broker_id=broker_id,
                epoch=epoch,
                replica=replica,
                directory=directory,
            )

        return await self._executor.each(
            (
                (replica, partial(decide, replica, directory))
                for replica, directory in assignments.items()
            ),
            deadline,
        )

    @property
    def _present(self) -> MetadataImage:
        return self._writer.present

    def _figures(self) -> Figures:
        return {
            "active": self._writer.active,
            "epoch": self._writer.epoch,
            "topics": len(self._writer.collision_keys),
            "offset": self._present.offset if self._writer.active else None,
        }
