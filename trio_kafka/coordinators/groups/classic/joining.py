"""JoinGroup: new members, members with an id, changed members; also the first member of a group.

A join is pending until the next generation begins. Errors that come with a member id are answered
as JoinAnswer, others are raised. Source: KIP-394 (a member id first), KIP-345, KIP-814 (static
members), KIP-800 (reasons).
"""

from typing import Final

from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.membership import Member
from trio_kafka.coordinators.groups.classic.rebalance import (
    complete_if_joined,
    prepare_or_complete,
)
from trio_kafka.coordinators.groups.classic.records import group_record
from trio_kafka.coordinators.groups.classic.requests import adapter_of
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.classic.static_members import replace_static_member
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import NO_MEMBER_ID, NO_REASON, Join, JoinAnswer
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.offsets import schedule_expiry
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, EventResult, Ticket
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import whole

NEW_MEMBER_TIMEOUT_MS: Final = 300_000  # longest wait of a client that cannot send heartbeats
_logger: Final = get_logger(__name__)


def join(group_id: str, request: Join, groups: Groups, ticket: Ticket, now_ms: int) -> EventResult:
    """Join a group; answer with JoinAnswer when the next generation begins. Create the group for a
    new client.

    Errors in the answer: COORDINATOR_NOT_AVAILABLE, GROUP_MAX_SIZE_REACHED,
    INCONSISTENT_GROUP_PROTOCOL, MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    group = groups.by_id.get(group_id)
    if not isinstance(group, ClassicGroup):
        if group is not None and not group.is_empty:
            adapter = adapter_of(groups, group)
            if adapter is not None:
                return adapter.join(group, request, ticket, now_ms)
            return _refusal(ticket, NO_MEMBER_ID, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id != NO_MEMBER_ID:
            return _refusal(ticket, request.member_id, ErrorCode.UNKNOWN_MEMBER_ID)
        return _open_group(groups, group_id, request, ticket, now_ms)
    transition = Transition(group, groups.own_settings.get(group_id, groups.settings), now_ms)
    error = _admission_error(transition, request)
    if error is not None:
        member_id = request.member_id
        if error is ErrorCode.GROUP_MAX_SIZE_REACHED:
            member_id = NO_MEMBER_ID
        transition.effects.answer(ticket, JoinAnswer(member_id, error))
    elif request.member_id == NO_MEMBER_ID:
        _join_new(transition, request, ticket)
    elif request.member_id not in group.membership.pending:
        _join_again(transition, request, ticket)
    elif request.instance_id is None:
        _add(transition, request, request.member_id, ticket)
    else:
        raise KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"member {request.member_id} is a dynamic member, but sent instance id "
            f"{request.instance_id}; join without a member id",
        )
    return transition.done


def _refusal(ticket: Ticket, member_id: str, error: ErrorCode) -> Effects:
    return Effects([], [(ticket, JoinAnswer(member_id, error))])


def _admission_error(transition: Transition, request: Join) -> ErrorCode | None:
    """Return why the client may not be a member. A member of a group that is too large is
    removed.
    """
    group = transition.group
    if not group.accepts(request.member_id, transition.settings.max_size):
        if request.member_id != NO_MEMBER_ID:
            group.remove(request.member_id)
            transition.cancel_timers(request.member_id)
            complete_if_joined(transition)
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if group.phase is ClassicState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if not group.speaks(request.protocol_type, request.protocols):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return None


def _open_group(
    groups: Groups, group_id: str, request: Join, ticket: Ticket, now_ms: int
) -> EventResult:
    """Create the group and join it. `groups` has none of this id, or an empty one of another type,
    which is replaced.

    The group gets a record without members at once, so that it is found again when its offsets are
    deleted or expire.
    """
    before = groups.by_id.get(group_id)
    records: list[CoordinatorRecord] = [] if before is None else before.tombstones()
    group = ClassicGroup(group_id=group_id, since_ms=now_ms)
    groups.by_id[group_id] = group
    records.append(whole(group_record(group, {})))
    effects = join(group_id, request, groups, ticket, now_ms)
    if not isinstance(effects, Effects):  # a first member is no large group
        effects = whole(effects)

    def refused(error: KafkaError, _now_ms: int) -> Effects:
        """Undo the creation, and answer the join with the error."""
        _logger.warning("group could not be made", group=group_id, reason=str(error))
        if before is None:
            del groups.by_id[group_id]
        else:
            groups.by_id[group_id] = before
        effects = Effects()
        for key in group.timers():
            effects.cancel_timer(key)
        return effects.answer(ticket, JoinAnswer(NO_MEMBER_ID, error.code))

    effects.records, effects.replays, effects.refused = records, False, refused
    schedule_expiry(effects, groups.settings)
    return effects


def _join_new(transition: Transition, request: Join, ticket: Ticket) -> None:
    """Join without a member id."""
    group = transition.group
    if request.instance_id is not None:
        current = group.membership.of_instance(request.instance_id)
        if current is None:
            _add(transition, request, request.new_member_id, ticket)
        else:
            replace_static_member(transition, request, current, ticket)
    elif request.asks_for_id:
        member_id = request.new_member_id
        group.membership.pending.add(member_id)
        transition.effects.set_timer(group.session_timer(member_id), request.session_timeout_ms)
        transition.effects.answer(ticket, JoinAnswer(member_id, ErrorCode.MEMBER_ID_REQUIRED))
    else:
        _add(transition, request, request.new_member_id, ticket)


def _join_again(transition: Transition, request: Join, ticket: Ticket) -> None:
    """Join as a member that the group has."""
    group, member_id = transition.group, request.member_id
    try:
        member = group.validate_member(member_id, request.instance_id)
    except KafkaError as error:
        transition.effects.answer(ticket, JoinAnswer(member_id, error.code))
        return
    if group.phase is ClassicState.PREPARING_REBALANCE:
        transition.park_join(member, request, ticket)
        complete_if_joined(transition)
        return
    cause = _cause_to_rebalance(transition, member, request)
    if cause is None:
        # The answer before may have been lost. A follower without changes causes no rebalance.
        transition.effects.answer(ticket, transition.current(member_id))
    else:
        transition.park_join(member, request, ticket)
        prepare_or_complete(transition, cause, member.client_id)


def _cause_to_rebalance(transition: Transition, member: Member, request: Join) -> str | None:
    """Return why a known member's join starts a rebalance; None: it does not."""
    group = transition.group
    if member.protocols != request.protocols:
        return f"member {member.member_id} has changed what it says ({request.reason or NO_REASON})"
    if group.phase is ClassicState.STABLE and group.leads(member.member_id):
        # The leader may have seen new topics.
        return f"leader {member.member_id} joins again ({request.reason or NO_REASON})"
    return None


def _add(transition: Transition, request: Join, member_id: str, ticket: Ticket) -> None:
    """Add a member, whose join is pending."""
    group = transition.group
    member = Member(
        member_id=member_id,
        instance_id=request.instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=request.protocols,
        join_ticket=ticket,
        is_new=True,
    )
    if group.initial is not None:
        group.newcomers = True
    group.add(member)
    transition.note(request.client_id, "joined")
    # It has no generation to send heartbeats for, and a muted connection does not show that it is
    # closed. So its session is as long as a join may take.
    transition.renew_session(member, NEW_MEMBER_TIMEOUT_MS)
    static = "" if request.instance_id is None else f" as {request.instance_id}"
    prepare_or_complete(
        transition,
        f"new member {member_id}{static} ({request.reason or NO_REASON})",
        request.client_id,
    )
