"""The parts of a consumer's group, put together."""

import base64
from collections.abc import Callable, Mapping

from trio_kafka.attributes import frozen
from trio_kafka.clients.client import Client
from trio_kafka.clients.consumer.groups.assignors.named import named_assignors
from trio_kafka.clients.consumer.groups.classic_protocol import ClassicMembership
from trio_kafka.clients.consumer.groups.classic_requests import ClassicMember
from trio_kafka.clients.consumer.groups.commits import Commits
from trio_kafka.clients.consumer.groups.consumer_protocol import ConsumerMembership
from trio_kafka.clients.consumer.groups.coordinator import Coordinator
from trio_kafka.clients.consumer.groups.group import ConsumerGroup
from trio_kafka.clients.consumer.groups.member import ConsumerMember, GroupTerms
from trio_kafka.clients.consumer.groups.offsets import MemberIdentity
from trio_kafka.clients.consumer.groups.protocol import Membership
from trio_kafka.clients.consumer.groups.rebalance import Rebalance
from trio_kafka.clients.consumer.groups.subscribed_topics import SubscribedTopics
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.consumer.values import Position
from trio_kafka.clients.settings.consumer import ConsumerSettings
from trio_kafka.model import TopicPartition


@frozen(kw_only=True)
class GroupHooks:
    """Calls that a group makes. assigned: after each change of the partitions.

    wake: wakes the reader.
    processed: returns the positions up to which records were processed.
    """

    assigned: Callable[[], None]
    wake: Callable[[], None]
    processed: Callable[[], Mapping[TopicPartition, Position]]


def group_of(
    client: Client, settings: ConsumerSettings, group: str, positions: Positions, hooks: GroupHooks
) -> ConsumerGroup:
    """Return the group of a consumer, which is not subscribed."""
    coordinator = Coordinator(client=client, group=group)
    rebalance = Rebalance(
        positions=positions,
        timeout_s=settings.max_poll_interval_ms / 1000,
        changed=hooks.assigned,
    )
    membership = _membership(settings, coordinator, rebalance, hooks)
    whole: ConsumerGroup

    def identity() -> MemberIdentity | None:
        return membership.identity if whole.is_subscribed else MemberIdentity()

    whole = ConsumerGroup(
        settings=settings,
        positions=positions,
        commits=Commits(
            coordinator=coordinator,
            identity=identity,
            is_joining=lambda: whole.is_subscribed and membership.is_joining,
            stable=True,  # as in Kafka: else what a transaction is committing is read again
            has_epochs=settings.uses_consumer_protocol,
        ),
        rebalance=rebalance,
        membership=membership,
        processed=hooks.processed,
        wake=hooks.wake,
    )
    if settings.enable_auto_commit:
        rebalance.commit = whole.commit_revoked
    return whole


def _membership(
    settings: ConsumerSettings,
    coordinator: Coordinator,
    rebalance: Rebalance,
    hooks: GroupHooks,
) -> Membership:
    client = coordinator.client
    if not settings.uses_consumer_protocol:
        classic = ClassicMember(
            group=coordinator.group,
            instance_id=settings.group_instance_id,
            rack=settings.client_rack or None,
            session_timeout_ms=settings.session_timeout_ms,
            rebalance_timeout_ms=settings.max_poll_interval_ms,
            assignors=named_assignors(settings.partition_assignment_strategy),
        )
        return ClassicMembership(
            member=classic,
            settings=settings,
            coordinator=coordinator,
            rebalance=rebalance,
            topics=SubscribedTopics(
                metadata=client.metadata,
                excludes_internal=settings.exclude_internal_topics,
                watches_racks=bool(settings.client_rack),
            ),
            wake=hooks.wake,
        )
    terms = GroupTerms(
        group=coordinator.group,
        instance_id=settings.group_instance_id,
        rack=settings.client_rack or None,
        rebalance_timeout_ms=settings.max_poll_interval_ms,
        assignor=settings.group_remote_assignor,
    )
    member_id = base64.urlsafe_b64encode(client.world.random.randbytes(16)).decode().rstrip("=")
    member = ConsumerMember(terms=terms, member_id=member_id, backoff=settings.retry_backoff)
    return ConsumerMembership(
        member=member, coordinator=coordinator, rebalance=rebalance, wake=hooks.wake
    )
