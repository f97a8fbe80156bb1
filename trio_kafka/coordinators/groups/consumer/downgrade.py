"""Downgrade of a consumer group to a classic one, once all its members speak the classic protocol.

Members keep their assignments. They rebalance if a member has left or has changed its subscription.
Source: convertToClassicGroup, ClassicGroup.fromConsumerGroup of Apache Kafka 4.4.0.
"""

from collections.abc import Collection, Sequence
from typing import Final

from trio_kafka.coordinators.groups.classic import rebalance
from trio_kafka.coordinators.groups.classic.group import CONSUMER, ClassicGroup
from trio_kafka.coordinators.groups.classic.membership import Member as ClassicMember
from trio_kafka.coordinators.groups.classic.records import group_record, subscribed_topics
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.classic.transition import Transition as ClassicTransition
from trio_kafka.coordinators.groups.consumer import records
from trio_kafka.coordinators.groups.consumer.embedded_protocol import write_assignment
from trio_kafka.coordinators.groups.consumer.member import Member
from trio_kafka.coordinators.groups.consumer.transition import Transition
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.stored.consumer_protocol_version import version_of
from trio_kafka.scheduling.chunked_work import whole

DOWNGRADES: Final = frozenset({"downgrade", "bidirectional"})
_logger: Final = get_logger(__name__)


def can_go_on_classic(transition: Transition, leaving: Collection[Member]) -> bool:
    """Return whether the group can be downgraded without these members."""
    group, settings = transition.group, transition.settings
    remaining = len(group.by_id) - len(leaving)
    return (
        group.all_classic_without(leaving)
        and remaining > 0
        and settings.consumer_migration_policy in DOWNGRADES
        and remaining <= settings.max_size
    )


def can_replace_classic(transition: Transition, replaced: Member) -> bool:
    """Return whether the group can be downgraded when a classic member replaces this one."""
    group, settings = transition.group, transition.settings
    return (
        replaced.classic is None
        and group.all_classic_without([replaced])
        and settings.consumer_migration_policy in DOWNGRADES
        and len(group.by_id) <= settings.max_size
    )


def downgrade(
    transition: Transition,
    *,
    leaving: Sequence[Member] = (),
    replaced: Member | None = None,
    joining: Member | None = None,
    cause: str | None = None,
) -> Effects:
    """Replace the group by a classic one. The records are not replayed: a classic group is more
    than its record.

    joining: takes the place of `replaced`; its records are written. cause: of a rebalance; None:
    every member has its target.
    Raises KafkaError(GROUP_ID_NOT_FOUND) if a member's metadata cannot be read.
    """
    group, state = transition.group, transition.state
    leaving_ids = {member.member_id for member in leaving}
    members = [member for member in group.by_id.values() if member.member_id not in leaving_ids]
    if joining is not None and replaced is not None:
        members = [member for member in members if member.member_id != replaced.member_id]
        members.append(joining)
    classic = ClassicGroup(
        group_id=group.group_id,
        phase=ClassicState.STABLE,
        before=ClassicState.COMPLETING_REBALANCE,
        since_ms=transition.now_ms,
        generation=group.epoch,
        protocol_type=CONSUMER,
        history=state.history_of(group.group_id),
    )
    for member in members:
        classic.add(_classic_member(member))
    classic.protocol_name = classic.membership.elected_protocol()
    classic.topics = whole(subscribed_topics(classic))
    try:
        for each in classic.membership:
            takes_over = joining is not None and each.member_id == joining.member_id
            old = replaced if takes_over else None
            _give(transition, classic, each, each.member_id if old is None else old.member_id)
    except DecodeError as error:
        raise KafkaError(
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"Cannot downgrade the classic group {group.group_id}: {error}.",
        ) from error
    transition.write(*_tombstones(transition, replaced, joining))
    assignments = {each.member_id: each.assignment for each in classic.membership}
    transition.write(whole(group_record(classic, assignments)))
    for member in group.by_id.values():
        transition.cancel_timers(member.member_id)
    state.searches.pop(group.group_id, None)
    state.groups.by_id[group.group_id] = classic
    _logger.info("consumer group downgraded to a classic group", group=group.group_id, cause=cause)
    culprit = leaving[0] if leaving else joining
    client_id = "" if culprit is None else culprit.client_id
    return _rebalanced(transition, classic, cause, client_id=client_id)


def _rebalanced(
    transition: Transition, classic: ClassicGroup, cause: str | None, *, client_id: str
) -> Effects:
    group, state = transition.group, transition.state
    later = ClassicTransition(classic, transition.settings, transition.now_ms, transition.effects)
    for member in classic.membership:
        later.renew_session(member)
    if cause is not None:
        rebalance.prepare(
            later,
            f"Downgrade group {group.group_id} from consumer to classic for {cause}.",
            client_id,
        )

    def refused(error: KafkaError, now_ms: int) -> Effects:
        """Restore the consumer group."""
        _logger.warning("group not downgraded", group=group.group_id, reason=str(error))
        state.groups.by_id[group.group_id] = group
        again = Transition.begin(state, group, now_ms)
        for key in classic.timers():
            again.effects.cancel_timer(key)
        for member in group.by_id.values():
            again.renew_session(member.member_id)
            again.track_revocation(member)
        for ticket, _ in transition.effects.answers:
            again.effects.answer(ticket, error)
        return again.effects

    transition.effects.replays, transition.effects.refused = False, refused
    return transition.effects


def _classic_member(member: Member) -> ClassicMember:
    if member.classic is None:
        raise ValueError(f"member {member.member_id} speaks KIP-848: expected the classic protocol")
    return ClassicMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocol_type=CONSUMER,
        protocols=member.classic.protocols,
    )


def _give(
    transition: Transition, classic: ClassicGroup, member: ClassicMember, target_id: str
) -> None:
    """Set the assignment to the target, in the version that the member speaks."""
    version = version_of(member.metadata(classic.protocol_name))
    target = transition.group.targets.get(target_id, {})
    member.assignment = write_assignment(target, version, transition.state.image)


def _tombstones(
    transition: Transition, replaced: Member | None, joining: Member | None
) -> list[CoordinatorRecord]:
    """Return tombstones of all members with records: the successor instead of the
    replaced member.
    """
    group = transition.group
    ids = list(group.by_id)
    if replaced is not None and joining is not None:
        old_id, new_id = replaced.member_id, joining.member_id
        ids = [new_id if member_id == old_id else member_id for member_id in ids]
    return records.no_group(group.group_id, ids, sorted(group.subscriptions.resolved))
