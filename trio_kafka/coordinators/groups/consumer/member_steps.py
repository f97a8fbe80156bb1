"""Steps of a member, in whatever protocol it speaks: admission, group epoch, target,
reconciliation.
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.groups.consumer import records, validation
from trio_kafka.coordinators.groups.consumer.assignors.spec import Partitions
from trio_kafka.coordinators.groups.consumer.member import Member
from trio_kafka.coordinators.groups.consumer.reconciliation import Goal, reconcile
from trio_kafka.coordinators.groups.consumer.subscriptions import homogeneous
from trio_kafka.coordinators.groups.consumer.target_assignment import (
    assign,
    may_assign,
    subscribed_topic_ids,
)
from trio_kafka.coordinators.groups.consumer.transition import Transition
from trio_kafka.coordinators.groups.consumer.values import OwnedTopic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps

_logger: Final = get_logger(__name__)


def check_room(transition: Transition, member_id: str, instance_id: str | None) -> None:
    """Raise KafkaError(GROUP_MAX_SIZE_REACHED) for a new member of a full group."""
    group, most = transition.group, transition.settings.consumer_max_size
    if group.static_member(instance_id) is not None or member_id in group.by_id:
        return
    if len(group.by_id) >= most:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {most} members.",
        )


def static_member(
    transition: Transition, instance_id: str, member_id: str, *, is_classic: bool
) -> Member:
    """Return a static member that joins: a new one, or the successor of the one with its instance
    id.

    Raises KafkaError(UNRELEASED_INSTANCE_ID) while that one has not left.
    """
    group = transition.group
    current = group.static_member(instance_id)
    _logger.info("member joined", group=group.group_id, member=member_id, instance=instance_id)
    if current is None:
        return group.by_id.get(member_id) or Member(member_id=member_id)
    if not is_classic and current.classic is None:
        validation.check_released(current, member_id, instance_id)
    renamed = current.renamed(member_id)
    target = group.targets.get(current.member_id, {})
    transition.write(
        *records.no_member(group.group_id, current.member_id),
        records.subscription(group.group_id, renamed),
        records.target(group.group_id, member_id, target),
        records.assignment(group.group_id, renamed),
    )
    return renamed


@frozen
class Plan:
    """The group's next epoch, and whether its members subscribe alike then."""

    epoch: int
    homogeneous: bool


def refresh_epoch_plan(
    transition: Transition, before: Member, after: Member, *, bump: bool
) -> Steps[Plan]:
    """Return the plan; increase the epoch if asked to, or if the topics have changed."""
    group = transition.group
    if not bump and not group.needs_refresh(transition.now_ms):
        return Plan(group.epoch, group.is_homogeneous)
    subscriptions = group.subscriptions
    topics = yield from subscriptions.topics_with(before, after)
    regexes = subscriptions.regexes_with(before, after)
    is_new = after.member_id not in group.by_id and group.static_member(after.instance_id) is None
    alike = homogeneous(regexes, topics, len(group.by_id) + is_new)
    metadata_hash = yield from transition.metadata_hash(topics)
    epoch = group.epoch
    if bump or metadata_hash != group.metadata_hash:
        cause, client_id = "topics that the group reads have changed", ""
        if bump:
            client_id, noun = after.client_id, f"member {after.member_id}"
            cause = f"new {noun}" if is_new else f"{noun} has changed its subscription"
        epoch = transition.bump(metadata_hash, cause, client_id)
    transition.refreshed(epoch)
    if group.has_subscription_metadata:
        transition.write(records.no_subscription_metadata(group.group_id))
    return Plan(epoch, alike)


@define
class Target:
    """Target of a member, at an epoch. Never changed."""

    epoch: int
    partitions: Partitions


def target_for(transition: Transition, plan: Plan, after: Member) -> Steps[Target]:
    """Return the target of the group's epoch; the last one if it may not be computed yet."""
    group = transition.group
    if group.assignment_epoch >= plan.epoch or not may_assign(transition):
        return Target(group.assignment_epoch, group.target_of(after))
    partitions = yield from assign(transition, plan.epoch, after, homogeneous=plan.homogeneous)
    return Target(plan.epoch, partitions)


def advance(
    transition: Transition,
    member: Member,
    target: Target,
    *,
    resubscribed: bool,
    owned: Sequence[OwnedTopic] | None,
) -> Member:
    """Return the member after its next step."""
    if not resubscribed and member.is_reconciled(target.epoch):
        return member
    topics, is_free = subscribed_topic_ids(transition, member), transition.group.is_free
    goal = Goal(target.epoch, target.partitions, topics, resubscribed, is_free, owned)
    reached = reconcile(member, goal)
    if reached is not member:
        transition.write(records.assignment(transition.group.group_id, reached))
        if reached.classic is None:
            transition.track_revocation(reached)
    return reached
