"""Upgrade of a classic group of consumers to a consumer group, while its members work (KIP-848).

The first member that sends a KIP-848 heartbeat triggers it. The others continue in the classic
protocol with their assignments, and move over one by one. Source: convertToConsumerGroup,
ConsumerGroup.fromClassicGroup.
"""

from typing import Final

from trio_kafka.coordinators.groups.classic.group import CONSUMER, ClassicGroup
from trio_kafka.coordinators.groups.classic.membership import Member as ClassicMember
from trio_kafka.coordinators.groups.classic.transition import Transition as ClassicTransition
from trio_kafka.coordinators.groups.classic.transition import end_group
from trio_kafka.coordinators.groups.consumer import records
from trio_kafka.coordinators.groups.consumer.assignors.spec import Partitions
from trio_kafka.coordinators.groups.consumer.embedded_protocol import (
    assigned_partitions,
    read_assignment,
    read_subscription,
)
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.member import ClassicSide, Member, since
from trio_kafka.coordinators.groups.consumer.metadata_hash import metadata_hash
from trio_kafka.coordinators.groups.consumer.shard_state import ConsumerShardState
from trio_kafka.coordinators.groups.consumer.transition import Transition
from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.model import TopicId
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.scheduling.chunked_work import whole

UPGRADES: Final = frozenset({"upgrade", "bidirectional"})
_logger: Final = get_logger(__name__)


def upgrade(state: ConsumerShardState, classic: ClassicGroup, now_ms: int) -> Transition:
    """Return the transition of the new group, with the records that make it. More records may
    follow in the same batch, and `seal` ends it: until then the classic group is unchanged.

    Raises KafkaError(GROUP_ID_NOT_FOUND) if the group cannot be upgraded.
    """
    _check(state, classic)
    try:
        group = _consumer_group(state, classic)
    except DecodeError as error:
        raise _refusal(classic, "the embedded consumer protocol is malformed") from error
    transition = Transition.begin(state, group, now_ms)
    transition.upgraded = classic
    transition.write(
        *classic.tombstones(),
        *records.whole_group(
            group.group_id,
            {member: group.targets[member.member_id] for member in group.by_id.values()},
            group.epoch,
            group.metadata_hash,
        ),
    )
    return transition


def seal(transition: Transition) -> None:
    """End an upgrade, if there is one: pending requests of the classic group are answered with
    REBALANCE_IN_PROGRESS.
    """
    classic = transition.upgraded
    if classic is None:
        return
    phase, before, since_ms = classic.phase, classic.before, classic.since_ms
    farewell = end_group(classic, ErrorCode.REBALANCE_IN_PROGRESS, transition.now_ms)
    tickets_of_classic = [ticket for ticket, _ in farewell.answers]
    transition.effects.join(farewell)

    def refused(error: KafkaError, now_ms: int) -> Effects:
        """Restore the classic group; its members join again."""
        _logger.warning("group not upgraded", group=classic.group_id, reason=str(error))
        classic.phase, classic.before, classic.since_ms = phase, before, since_ms
        later = ClassicTransition(classic, transition.settings, now_ms)
        for member in classic.membership:
            later.renew_session(member)
        for ticket, answer in transition.effects.answers:
            later.effects.answer(ticket, answer if ticket in tickets_of_classic else error)
        return later.effects

    transition.effects.refused = refused
    for member in classic.membership:
        transition.renew_session(member.member_id, member.session_timeout_ms)
    _logger.info("classic group upgraded to a consumer group", group=classic.group_id)


def _check(state: ConsumerShardState, classic: ClassicGroup) -> None:
    settings = state.settings_of(classic.group_id)
    if settings.consumer_migration_policy not in UPGRADES:
        raise _refusal(classic, "online upgrade is disabled")
    if classic.protocol_type != CONSUMER:
        raise _refusal(classic, "the group does not use the consumer embedded protocol")
    if len(classic.membership) > settings.consumer_max_size:
        raise _refusal(classic, "the group size exceeds the consumer group maximum size")


def _refusal(classic: ClassicGroup, reason: str) -> KafkaError:
    message = f"Cannot upgrade classic group {classic.group_id} to consumer group because {reason}."
    _logger.info("group not upgraded", group=classic.group_id, reason=reason)
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, message)


def _consumer_group(state: ConsumerShardState, classic: ClassicGroup) -> ConsumerGroup:
    group = state.new(classic.group_id)
    group.epoch = group.assignment_epoch = classic.generation
    assigned: set[tuple[TopicId, int]] = set()
    for member in classic.membership:
        partitions = _partitions_of(state, classic, member)
        owned = {(topic, number) for topic, numbers in partitions.items() for number in numbers}
        if not assigned.isdisjoint(owned):
            raise DecodeError(f"{member.member_id} has partitions of other members")
        assigned |= owned
        group.targets[member.member_id] = partitions
        group.put(_member(classic, member, partitions))
    topics = group.subscriptions.topics
    group.metadata_hash = whole(metadata_hash(topics, state.image, state.hashes))
    return group


def _partitions_of(
    state: ConsumerShardState, classic: ClassicGroup, member: ClassicMember
) -> Partitions:
    if not member.assignment:
        return {}
    assignment = read_assignment(member.assignment)
    if assignment.user_data:
        raise KafkaError(
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"Cannot upgrade classic group {classic.group_id} to consumer group because an "
            "unsupported custom assignor is in use. Please refer to the documentation or switch to "
            "a default assignor before re-attempting the upgrade.",
        )
    return assigned_partitions(assignment, state.image)


def _member(classic: ClassicGroup, member: ClassicMember, partitions: Partitions) -> Member:
    # Before its first generation a group has no protocol. The metadata of consumers are equal in
    # all protocols.
    protocol = classic.protocol_name or member.protocols[0].name
    subscription = read_subscription(member.metadata(protocol))
    return Member(
        member_id=member.member_id,
        epoch=classic.generation,
        previous_epoch=classic.generation,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=tuple(sorted(set(subscription.topics))),
        assigned=since(partitions, classic.generation),
        classic=ClassicSide(member.session_timeout_ms, member.protocols),
    )
