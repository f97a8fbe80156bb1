"""Rebalance of a classic group: prepare it, wait for joins, begin the next generation.

An empty group's first rebalance waits for more members (`group.initial.rebalance.delay.ms`). Later
ones wait until all have joined, or for the longest rebalance timeout. Source: GroupMetadataManager
of Apache Kafka 4.4.0.
"""

from typing import Final

from trio_kafka.coordinators.groups.classic.group import InitialDelay
from trio_kafka.coordinators.groups.classic.records import (
    group_record,
    subscribed_topics,
)
from trio_kafka.coordinators.groups.classic.states import (
    WITH_GENERATION,
    ClassicState,
    GroupEvent,
)
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.shards.effects import CancelTimer, SetTimer
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps, whole

A_STEP: Final = 100  # members answered in one step: 0.4 ms
_logger: Final = get_logger(__name__)


def prepare_or_complete(transition: Transition, cause: str, client_id: str = "") -> None:
    """Start a rebalance after a change of members, or continue the current one.

    client_id: client whose member causes it; empty: no member does.
    Raises InvariantError in a state whose members cannot change.
    """
    if transition.group.phase is ClassicState.PREPARING_REBALANCE:
        complete_if_joined(transition)
    else:
        prepare(transition, cause, client_id)


def prepare(transition: Transition, cause: str, client_id: str = "") -> None:
    """Ask all members to join; from Empty, Stable or CompletingRebalance.

    client_id: as in `prepare_or_complete`.
    """
    group, settings = transition.group, transition.settings
    timers = transition.effects.timers
    if group.phase is ClassicState.COMPLETING_REBALANCE:
        transition.clear_assignments(ErrorCode.REBALANCE_IN_PROGRESS)
    group.syncs_due.clear()
    timers.append(CancelTimer(group.sync_timer))
    group.initial, group.newcomers = None, False
    if group.phase is ClassicState.EMPTY:
        delay_ms = settings.initial_rebalance_delay_ms
        left_ms = max(group.membership.rebalance_timeout_ms - delay_ms, 0)
        group.initial = InitialDelay(delay_ms, left_ms)
    group.change_state(GroupEvent.MEMBERS_CHANGE, transition.now_ms)
    group.history.add_rebalance(transition.now_ms, group.generation, cause, client_id=client_id)
    _logger.info("rebalance started", group=group.group_id, after=group.generation, cause=cause)
    if group.initial is not None:
        timers.append(SetTimer(group.join_timer, group.initial.delay_ms))
    elif group.membership.all_joined:
        complete(transition)
    else:
        timers.append(SetTimer(group.join_timer, group.membership.rebalance_timeout_ms))


def complete_if_joined(transition: Transition) -> None:
    """Begin the next generation if all members have joined. A first rebalance waits out
    its delay.
    """
    group = transition.group
    joins = group.phase is ClassicState.PREPARING_REBALANCE
    if joins and group.before is not ClassicState.EMPTY and group.membership.all_joined:
        complete(transition)


def join_timed_out(transition: Transition) -> None:
    """End the wait for joins; extend the first one while new members come."""
    group, initial = transition.group, transition.group.initial
    if group.phase is not ClassicState.PREPARING_REBALANCE:
        return
    if initial is None or not group.newcomers or not initial.left_ms:
        complete(transition)
        return
    group.newcomers = False
    delay_ms = min(transition.settings.initial_rebalance_delay_ms, initial.left_ms)
    group.initial = InitialDelay(delay_ms, max(initial.left_ms - initial.delay_ms, 0))
    transition.effects.timers.append(SetTimer(group.join_timer, delay_ms))


def complete(transition: Transition) -> None:
    """Begin the next generation with the members that joined. Static members that did not join
    stay.

    With many members this becomes the `rest` of the event. If only static members are left and none
    has joined, they get the rebalance timeout again.
    """
    group, timers = transition.group, transition.effects.timers
    membership = group.membership
    timers.append(CancelTimer(group.join_timer))
    if membership.joined < len(membership.by_id):
        _remove_late_members(transition)
    if membership.by_id and not _has_joined_leader(transition):
        _logger.warning("rebalance extended: no member has joined", group=group.group_id)
        timers.append(SetTimer(group.join_timer, membership.rebalance_timeout_ms))
        return
    group.initial = None
    group.generation += 1
    group.syncs_due.clear()
    if not membership.by_id:
        _begin_empty(transition)
        return
    steps = _begin_generation(transition)
    if len(membership.by_id) > A_STEP:
        transition.rest = steps
    else:
        for _ in steps:
            pass


def _remove_late_members(transition: Transition) -> None:
    """Remove the members that have not joined, but not static ones."""
    late = [member for member in transition.group.membership if member.join_ticket is None]
    for member in late:
        if not member.is_static:
            transition.group.remove(member.member_id)
            transition.note(member.client_id, "timed out")
            transition.cancel_timers(member.member_id)
            _logger.info(
                "member removed: not joined in time",
                group=transition.group.group_id,
                member=member.member_id,
            )


def _has_joined_leader(transition: Transition) -> bool:
    """Return whether the leader has joined; make another member that joined the leader
    otherwise.
    """
    group = transition.group
    members = group.membership.by_id
    leader = None if group.leader is None else members.get(group.leader)
    if leader is not None and leader.join_ticket is not None:
        return True
    successor = next((each for each in members.values() if each.join_ticket is not None), None)
    if successor is None:
        return False
    group.leader = successor.member_id
    return True


def _begin_generation(transition: Transition) -> Steps[None]:
    """Begin the generation. No other event is taken between the steps."""
    group = transition.group
    group.protocol_name = group.membership.elected_protocol()
    group.topics = yield from subscribed_topics(group)
    group.change_state(GroupEvent.GENERATION_BEGINS, transition.now_ms)
    for number, member in enumerate(group.membership.by_id.values(), 1):
        transition.answer_join(member, transition.current(member.member_id))
        transition.renew_session(member)
        member.is_new = False
        group.syncs_due.add(member.member_id)
        if not number % A_STEP:
            yield
    timeout_ms = group.membership.rebalance_timeout_ms
    transition.effects.timers.append(SetTimer(group.sync_timer, timeout_ms))
    _logger.info(
        "generation started",
        group=group.group_id,
        generation=group.generation,
        members=len(group.membership.by_id),
    )


def _begin_empty(transition: Transition) -> None:
    """Make the group empty. If the record is refused, requests get the error; the earlier
    generation stays in the log, and its members expire after the next load.
    """
    group = transition.group
    group.protocol_name = None
    group.topics = whole(subscribed_topics(group))
    group.change_state(GroupEvent.MEMBERS_ARE_GONE, transition.now_ms)
    transition.effects.records.append(whole(group_record(group, {})))
    transition.effects.replays = False
    _logger.info("group emptied", group=group.group_id, generation=group.generation)


def sync_timed_out(transition: Transition) -> None:
    """Remove the members that have not synced in time."""
    group = transition.group
    if group.phase not in WITH_GENERATION or not group.syncs_due:
        return
    late = sorted(group.syncs_due)
    client_id = ""
    for member_id in late:
        member = group.membership.by_id.get(member_id)
        if member is not None:
            client_id = client_id or member.client_id
            transition.answer_sync(member, KafkaError(ErrorCode.UNKNOWN_MEMBER_ID))
            transition.note(member.client_id, "timed out")
        group.remove(member_id)
        transition.cancel_timers(member_id)
    prepare(transition, f"members have not synced in time: {', '.join(late)}", client_id)
