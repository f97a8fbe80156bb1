"""Members of the classic protocol in a consumer group: their requests and answers.

They have targets and epochs like all members. Their generation is the member epoch. A member with a
step to take gets REBALANCE_IN_PROGRESS, and takes the step when it joins. Source:
classicGroupJoinToConsumerGroup and others of Apache Kafka 4.4.0.
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.classic.group import CONSUMER
from trio_kafka.coordinators.groups.classic.values import (
    NO_MEMBER_ID,
    ClassicHeartbeat,
    Join,
    JoinAnswer,
    LeavingMember,
    Sync,
    SyncAnswer,
)
from trio_kafka.coordinators.groups.consumer import records, topic_regexes
from trio_kafka.coordinators.groups.consumer.downgrade import can_replace_classic, downgrade
from trio_kafka.coordinators.groups.consumer.embedded_protocol import (
    owned_partitions,
    read_subscription,
    write_assignment,
)
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.leaving import remove
from trio_kafka.coordinators.groups.consumer.member import (
    ClassicSide,
    Member,
    MemberState,
    partitions_of,
)
from trio_kafka.coordinators.groups.consumer.member_steps import (
    Target,
    advance,
    check_room,
    refresh_epoch_plan,
    static_member,
    target_for,
)
from trio_kafka.coordinators.groups.consumer.shard_state import ConsumerShardState
from trio_kafka.coordinators.groups.consumer.transition import SYNC, Transition
from trio_kafka.coordinators.groups.consumer.values import SAME
from trio_kafka.coordinators.shards.effects import Effects, EventResult, Ticket
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.stored.consumer_protocol import ConsumerProtocolSubscription
from trio_kafka.protocol.stored.consumer_protocol_version import version_of
from trio_kafka.scheduling.chunked_work import Steps

_DISABLED: Final = "disabled"


@define(eq=False)
class ClassicMemberAdapter:
    """Serves classic members of consumer groups. Answers are those of classic groups; errors are
    raised.
    """

    state: ConsumerShardState

    def join(
        self,
        group: ConsumerGroup,
        request: Join,
        ticket: Ticket,
        now_ms: int,
    ) -> EventResult:
        """Join the group; answer with JoinAnswer at once: there is no leader, and no other member
        to wait for.

        Raises KafkaError: INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID,
        FENCED_INSTANCE_ID.
        """
        transition = Transition.begin(self.state, group, now_ms)
        _check_migration(transition)
        member_id = request.member_id or request.fresh
        check_room(transition, member_id, request.instance_id)
        _check_protocols(group, request, member_id)
        if not request.member_id and request.instance_id is None and request.asks_for_id:
            error = ErrorCode.MEMBER_ID_REQUIRED
            return transition.effects.answer(ticket, JoinAnswer(member_id=member_id, error=error))
        try:
            subscription = read_subscription(request.protocols[0].metadata)
        except DecodeError as error:
            message = "Malformed embedded consumer protocol in subscription deserialization."
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
        before = _subscribed(transition, request, member_id)
        return _join(transition, request, subscription, before, ticket)

    def sync(
        self,
        group: ConsumerGroup,
        request: Sync,
        ticket: Ticket,
        now_ms: int,
    ) -> Effects:
        """Answer with SyncAnswer and the member's assignment.

        Raises KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
        INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
        """
        transition = Transition.begin(self.state, group, now_ms)
        member, side = _classic_member(group, request.member_id, request.instance_id)
        _check_generation(member, request.generation)
        _check_protocol(member, side, request)
        if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            transition.await_join(member)
            error = KafkaError(
                ErrorCode.REBALANCE_IN_PROGRESS,
                f"A new rebalance is triggered in group {group.group_id} and member "
                f"{member.member_id} should rejoin to catch up.",
            )
            return transition.effects.answer(ticket, error)
        transition.effects.cancel_timer(transition.key(SYNC, member.member_id))
        transition.renew_session(member.member_id, side.session_timeout_ms)
        assignment = write_assignment(
            partitions_of(member.assigned),
            version_of(side.protocols[0].metadata),
            self.state.image,
        )
        synced = SyncAnswer(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=assignment,
        )
        return transition.effects.answer(ticket, synced)

    def heartbeat(
        self,
        group: ConsumerGroup,
        request: ClassicHeartbeat,
        ticket: Ticket,
        now_ms: int,
    ) -> Effects:
        """Renew the session; answer with None, or REBALANCE_IN_PROGRESS for a member with a step to
        take.

        Raises KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
        """
        transition = Transition.begin(self.state, group, now_ms)
        member, side = _classic_member(group, request.member_id, request.instance_id)
        _check_generation(member, request.generation)
        transition.renew_session(member.member_id, side.session_timeout_ms)
        if member.epoch >= group.epoch and not _can_go_on(group, member):
            return transition.effects.answer(ticket, None)
        transition.await_join(member)
        return transition.effects.answer(ticket, KafkaError(ErrorCode.REBALANCE_IN_PROGRESS))

    def leave(
        self,
        group: ConsumerGroup,
        members: Sequence[LeavingMember],
        ticket: Ticket,
        now_ms: int,
    ) -> EventResult:
        """Remove members; answer with an ErrorCode for each: NONE, UNKNOWN_MEMBER_ID,
        FENCED_INSTANCE_ID.
        """
        codes: list[ErrorCode] = []
        leaving: dict[str, Member] = {}
        for request in members:
            try:
                member = _leaving(group, request)
                leaving[member.member_id] = member
                codes.append(ErrorCode.NONE)
            except KafkaError as error:
                codes.append(error.code)
        return remove(
            Transition.begin(self.state, group, now_ms), list(leaving.values()), ticket, codes
        )


def _can_go_on(group: ConsumerGroup, member: Member) -> bool:
    match member.state:
        case MemberState.UNREVOKED_PARTITIONS:
            return True
        case MemberState.UNRELEASED_PARTITIONS:
            return not group.waits_for_others(member)
        case _:
            return False


def _join(
    transition: Transition,
    request: Join,
    subscription: ConsumerProtocolSubscription,
    before: Member,
    ticket: Ticket,
) -> Steps[Effects]:
    group, after = transition.group, _updated_member(before, request, subscription)
    if after is not before:
        transition.write(records.subscription(group.group_id, after))
    renamed = before.topics != after.topics
    regex = topic_regexes.update(transition, before, after)
    bump = renamed or regex is not topic_regexes.Change.NONE
    plan = yield from refresh_epoch_plan(transition, before, after, bump=bump)
    owned = owned_partitions(subscription, transition.state.image)
    if after.member_id not in group.by_id:
        transition.note(after.client_id, "joined")
    replaced = group.static_member(request.instance_id)
    cause: str | None
    if replaced is not None and can_replace_classic(transition, replaced):
        reached, cause = after, "stale assignment"
        if group.assignment_epoch >= plan.epoch:
            last = Target(group.assignment_epoch, group.target_of(after))
            reached = advance(transition, after, last, resubscribed=False, owned=owned)
            cause = None
        transition.effects.answer(ticket, _joined(request, reached))
        # No member speaks KIP-848 any more.
        return downgrade(transition, replaced=replaced, joining=reached, cause=cause)
    target = yield from target_for(transition, plan, after)
    reached = advance(transition, after, target, resubscribed=bump, owned=owned)
    topic_regexes.search_if_due(transition, before, after, request.may_describe)

    def committed(now_ms: int) -> Effects:
        """Start the member's session and its timer to sync. No timer runs before the commit."""
        later = Transition.begin(transition.state, group, now_ms)
        later.joined(reached.member_id)
        later.renew_session(reached.member_id, request.session_timeout_ms)
        key = later.key(SYNC, reached.member_id)
        return later.effects.set_timer(key, request.rebalance_timeout_ms)

    transition.effects.committed = committed
    return transition.effects.answer(ticket, _joined(request, reached))


def _joined(request: Join, member: Member) -> JoinAnswer:
    return JoinAnswer(
        member_id=member.member_id,
        generation=member.epoch,
        protocol_type=CONSUMER,
        protocol_name=request.protocols[0].name,
    )


def _subscribed(transition: Transition, request: Join, member_id: str) -> Member:
    group, instance_id = transition.group, request.instance_id
    if instance_id is None:
        return group.by_id.get(member_id) or Member(member_id=member_id)
    if request.member_id == NO_MEMBER_ID:
        return static_member(transition, instance_id, member_id, is_classic=True)
    return group.validated_member(member_id, instance_id)


def _updated_member(
    before: Member, request: Join, subscription: ConsumerProtocolSubscription
) -> Member:
    timeout_ms = request.rebalance_timeout_ms
    return before.changed(
        instance_id=request.instance_id or before.instance_id,
        rack_id=subscription.rack_id or before.rack_id,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == SAME else timeout_ms,
        topics=tuple(sorted(set(subscription.topics))),
        regex="",
        client_id=request.client_id,
        client_host=request.client_host,
        classic=ClassicSide(request.session_timeout_ms, request.protocols),
    )


# Checks


def _check_migration(transition: Transition) -> None:
    if transition.settings.consumer_migration_policy == _DISABLED:
        raise KafkaError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"Cannot join the consumer group {transition.group.group_id} with the classic protocol "
            "because the group migration is disabled.",
        )


def _check_protocols(group: ConsumerGroup, request: Join, member_id: str) -> None:
    """Raise KafkaError unless all classic members support one of its protocols."""
    common = {name for name, _ in request.protocols}
    for member in group.by_id.values():
        if member.classic is not None:
            common.intersection_update(name for name, _ in member.classic.protocols)
    if request.protocol_type != CONSUMER or not common:
        raise KafkaError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"Member {member_id}'s protocols are not supported.",
        )


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[Member, ClassicSide]:
    if instance_id is not None and group.static_member(instance_id) is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member with instance id {instance_id} is not a member of group {group.group_id}.",
        )
    member = group.validated_member(member_id, instance_id)
    if member.classic is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member {member.member_id} does not use the classic protocol.",
        )
    return member, member.classic


def _check_generation(member: Member, generation: int) -> None:
    if member.epoch != generation:
        raise KafkaError(
            ErrorCode.ILLEGAL_GENERATION,
            f"The request generation id {generation} is not equal to the member epoch "
            f"{member.epoch} of member {member.member_id}.",
        )


def _check_protocol(member: Member, side: ClassicSide, request: Sync) -> None:
    name = side.protocols[0].name
    if request.protocol_type not in (None, CONSUMER):
        text = (
            f"The protocol type {request.protocol_type} from member {member.member_id} request is "
            f"not equal to the group protocol type {CONSUMER}."
        )
    elif request.protocol_name not in (None, name):
        text = (
            f"The protocol name {request.protocol_name} from member {member.member_id} request is "
            f"not equal to the protocol name {name} returned in the join response."
        )
    else:
        return
    raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, text)


def _leaving(group: ConsumerGroup, request: LeavingMember) -> Member:
    static = group.static_member(request.instance_id)
    member_id = request.member_id or ("" if static is None else static.member_id)
    return group.validated_member(member_id, request.instance_id)
