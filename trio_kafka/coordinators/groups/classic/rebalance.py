"""The rebalance of a classic group: it is prepared, members join, the next generation begins.

The first one of an empty group waits for more members (`group.initial.rebalance.delay.ms`), later
ones until all have joined, or for the longest rebalance timeout of them.
Source: GroupMetadataManager of Apache Kafka 4.4.0.
"""

from typing import Final

from trio_kafka.coordinators.groups.classic.group import InitialDelay, Rebalance
from trio_kafka.coordinators.groups.classic.records import (
    group_record,
    subscribed_topics,
    topics_in_steps,
)
from trio_kafka.coordinators.groups.classic.states import PREVIOUS, ClassicState
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps, whole

A_STEP: Final = 100  # members that are told in one step: 0.4 ms
_CAN_REBALANCE: Final = PREVIOUS[ClassicState.PREPARING_REBALANCE]
_logger: Final = get_logger(__name__)


def prepare_or_complete(transition: Transition, cause: str) -> None:
    """Somebody has come, gone or changed: rebalance, or go on with the one that is under way."""
    if transition.group.phase in _CAN_REBALANCE:
        prepare(transition, cause)
    else:
        complete_if_joined(transition)


def prepare(transition: Transition, cause: str) -> None:
    """Ask all members to join; from Empty, Stable or CompletingRebalance."""
    group, settings = transition.group, transition.settings
    if group.phase is ClassicState.COMPLETING_REBALANCE:
        transition.take_back(ErrorCode.REBALANCE_IN_PROGRESS)
    group.syncs_due.clear()
    transition.effects.cancel_timer(group.sync_timer)
    group.initial, group.newcomers = None, False
    if group.phase is ClassicState.EMPTY:
        delay_ms = settings.initial_rebalance_delay_ms
        left_ms = max(group.membership.rebalance_timeout_ms - delay_ms, 0)
        group.initial = InitialDelay(delay_ms, left_ms)
    group.enter(ClassicState.PREPARING_REBALANCE, transition.now_ms)
    group.rebalances.append(Rebalance(transition.now_ms, group.generation, cause))
    _logger.info("group rebalances", group=group.group_id, after=group.generation, cause=cause)
    if group.initial is not None:
        transition.effects.set_timer(group.join_timer, group.initial.delay_ms)
    elif group.membership.all_joined:
        complete(transition)
    else:
        transition.effects.set_timer(group.join_timer, group.membership.rebalance_timeout_ms)


def complete_if_joined(transition: Transition) -> None:
    """The next generation begins if all have joined. A first rebalance waits out its delay."""
    group = transition.group
    joins = group.phase is ClassicState.PREPARING_REBALANCE
    if joins and group.before is not ClassicState.EMPTY and group.membership.all_joined:
        complete(transition)


def join_timed_out(transition: Transition) -> None:
    """The wait for members is over; the first one goes on while new ones come."""
    group, initial = transition.group, transition.group.initial
    if group.phase is not ClassicState.PREPARING_REBALANCE:
        return
    if initial is None or not group.newcomers or not initial.left_ms:
        complete(transition)
        return
    group.newcomers = False
    delay_ms = min(transition.settings.initial_rebalance_delay_ms, initial.left_ms)
    group.initial = InitialDelay(delay_ms, max(initial.left_ms - initial.delay_ms, 0))
    transition.effects.set_timer(group.join_timer, delay_ms)


def complete(transition: Transition) -> None:
    """Begin the next generation with who has joined; static members stay in it if they have not.
    With many members that is the `rest` of the event.

    Where nobody has joined but static members are left, they get the rebalance timeout again.
    """
    group = transition.group
    transition.effects.cancel_timer(group.join_timer)
    _remove_who_has_not_joined(transition)
    if group.membership and not _has_joined_leader(transition):
        _logger.warning("rebalance goes on: no member has joined", group=group.group_id)
        transition.effects.set_timer(group.join_timer, group.membership.rebalance_timeout_ms)
        return
    group.initial = None
    group.generation += 1
    group.syncs_due.clear()
    if len(group.membership) > A_STEP:
        transition.rest = _begin_generation(transition)
    elif group.membership:
        whole(_begin_generation(transition))
    else:
        _begin_empty(transition)


def _remove_who_has_not_joined(transition: Transition) -> None:
    late = [member for member in transition.group.membership if member.joining is None]
    for member in late:
        if not member.is_static:
            transition.group.remove(member.member_id)
            transition.unwatch(member.member_id)
            _logger.info(
                "member has not joined in time",
                group=transition.group.group_id,
                member=member.member_id,
            )


def _has_joined_leader(transition: Transition) -> bool:
    """The leader has joined, or somebody else who has leads now."""
    group = transition.group
    leader = group.membership.get(group.leader)
    if leader is not None and leader.joining is not None:
        return True
    joined = next((member for member in group.membership if member.joining is not None), None)
    if joined is None:
        return False
    group.leader = joined.member_id
    return True


def _begin_generation(transition: Transition) -> Steps[None]:
    """Where it takes several steps nobody else is heard in between: a shard is one writer."""
    group = transition.group
    group.protocol_name = group.membership.elected_protocol()
    group.topics = yield from topics_in_steps(group)
    group.enter(ClassicState.COMPLETING_REBALANCE, transition.now_ms)
    for number, member in enumerate(group.membership, 1):
        transition.answer_join(member, transition.current(member.member_id))
        transition.watch(member)
        member.is_new = False
        group.syncs_due.add(member.member_id)
        if not number % A_STEP:
            yield
    transition.effects.set_timer(group.sync_timer, group.membership.rebalance_timeout_ms)
    _logger.info(
        "generation begins",
        group=group.group_id,
        generation=group.generation,
        members=len(group.membership),
    )


def _begin_empty(transition: Transition) -> None:
    """Nobody is left. Should the record be refused, whoever is to be answered is told so; the
    generation before lives on in the log, and its members time out when it is loaded.
    """
    group = transition.group
    group.protocol_name = None
    group.topics = subscribed_topics(group)
    group.enter(ClassicState.EMPTY, transition.now_ms)
    transition.effects.records.append(group_record(group, {}))
    transition.effects.replays = False
    _logger.info("group is empty", group=group.group_id, generation=group.generation)


def sync_timed_out(transition: Transition) -> None:
    """Who has not synced by now is no member any more."""
    group = transition.group
    working = group.phase in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE)
    if not working or not group.syncs_due:
        return
    late = sorted(group.syncs_due)
    for member_id in late:
        member = group.membership.get(member_id)
        if member is not None:
            transition.answer_sync(member, KafkaError(ErrorCode.UNKNOWN_MEMBER_ID))
        group.remove(member_id)
        transition.unwatch(member_id)
    prepare(transition, f"members have not synced in time: {', '.join(late)}")
