"""The rebalance of a classic group: it is prepared, members join, the next generation begins.

The first one of an empty group waits for more members (`group.initial.rebalance.delay.ms`), later
ones until all have joined, or for the longest rebalance timeout of them.
Source: GroupMetadataManager of Apache Kafka 4.4.0.
"""

from typing import Final

from trio_kafka.coordinators.groups.classic.act import Act
from trio_kafka.coordinators.groups.classic.assigning import take_back
from trio_kafka.coordinators.groups.classic.group import InitialDelay, Rebalance
from trio_kafka.coordinators.groups.classic.states import PREVIOUS, ClassicState
from trio_kafka.coordinators.groups.classic.stored import (
    group_record,
    subscribed_topics,
    topics_in_steps,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps, whole

A_STEP: Final = 100  # members that are told in one step: 0.4 ms
_CAN_REBALANCE: Final = PREVIOUS[ClassicState.PREPARING_REBALANCE]
_logger: Final = get_logger(__name__)


def prepare_or_complete(act: Act, cause: str) -> None:
    """Somebody has come, gone or changed: rebalance, or go on with the one that is under way."""
    if act.group.phase in _CAN_REBALANCE:
        prepare(act, cause)
    else:
        complete_if_joined(act)


def prepare(act: Act, cause: str) -> None:
    """Ask all members to join; from Empty, Stable or CompletingRebalance."""
    group, settings = act.group, act.settings
    if group.phase is ClassicState.COMPLETING_REBALANCE:
        take_back(act, ErrorCode.REBALANCE_IN_PROGRESS)
    group.syncs_due.clear()
    act.effects.cancel_timer(group.sync_timer)
    group.initial, group.newcomers = None, False
    if group.phase is ClassicState.EMPTY:
        delay_ms = settings.initial_rebalance_delay_ms
        left_ms = max(group.roster.rebalance_timeout_ms - delay_ms, 0)
        group.initial = InitialDelay(delay_ms, left_ms)
    group.enter(ClassicState.PREPARING_REBALANCE, act.now_ms)
    group.rebalances.append(Rebalance(act.now_ms, group.generation, cause))
    _logger.info("group rebalances", group=group.group_id, after=group.generation, cause=cause)
    if group.initial is not None:
        act.effects.set_timer(group.join_timer, group.initial.delay_ms)
    elif group.roster.all_joined:
        complete(act)
    else:
        act.effects.set_timer(group.join_timer, group.roster.rebalance_timeout_ms)


def complete_if_joined(act: Act) -> None:
    """The next generation begins if all have joined. A first rebalance waits out its delay."""
    group = act.group
    joins = group.phase is ClassicState.PREPARING_REBALANCE
    if joins and group.before is not ClassicState.EMPTY and group.roster.all_joined:
        complete(act)


def join_timed_out(act: Act) -> None:
    """The wait for members is over; the first one goes on while new ones come."""
    group, initial = act.group, act.group.initial
    if group.phase is not ClassicState.PREPARING_REBALANCE:
        return
    if initial is None or not group.newcomers or not initial.left_ms:
        complete(act)
        return
    group.newcomers = False
    delay_ms = min(act.settings.initial_rebalance_delay_ms, initial.left_ms)
    group.initial = InitialDelay(delay_ms, max(initial.left_ms - initial.delay_ms, 0))
    act.effects.set_timer(group.join_timer, delay_ms)


def complete(act: Act) -> None:
    """Begin the next generation with who has joined; static members stay in it if they have not.
    With many members that is the `rest` of the event.

    Where nobody has joined but static members are left, they get the rebalance timeout again.
    """
    group = act.group
    act.effects.cancel_timer(group.join_timer)
    _remove_who_has_not_joined(act)
    if group.roster and not _has_joined_leader(act):
        _logger.warning("rebalance goes on: no member has joined", group=group.group_id)
        act.effects.set_timer(group.join_timer, group.roster.rebalance_timeout_ms)
        return
    group.initial = None
    group.generation += 1
    group.syncs_due.clear()
    if len(group.roster) > A_STEP:
        act.rest = _begin_generation(act)
    elif group.roster:
        whole(_begin_generation(act))
    else:
        _begin_empty(act)


def _remove_who_has_not_joined(act: Act) -> None:
    late = [member for member in act.group.roster if member.joining is None]
    for member in late:
        if not member.is_static:
            act.group.remove(member.member_id)
            act.unwatch(member.member_id)
            _logger.info(
                "member has not joined in time",
                group=act.group.group_id,
                member=member.member_id,
            )


def _has_joined_leader(act: Act) -> bool:
    """The leader has joined, or somebody else who has leads now."""
    group = act.group
    leader = group.roster.get(group.leader)
    if leader is not None and leader.joining is not None:
        return True
    joined = next((member for member in group.roster if member.joining is not None), None)
    if joined is None:
        return False
    group.leader = joined.member_id
    return True


def _begin_generation(act: Act) -> Steps[None]:
    """Where it takes several steps nobody else is heard in between: a shard is one writer."""
    group = act.group
    group.protocol_name = group.roster.elected_protocol()
    group.topics = yield from topics_in_steps(group)
    group.enter(ClassicState.COMPLETING_REBALANCE, act.now_ms)
    for number, member in enumerate(group.roster, 1):
        act.answer_join(member, act.current(member.member_id))
        act.watch(member)
        member.is_new = False
        group.syncs_due.add(member.member_id)
        if not number % A_STEP:
            yield
    act.effects.set_timer(group.sync_timer, group.roster.rebalance_timeout_ms)
    _logger.info(
        "generation begins",
        group=group.group_id,
        generation=group.generation,
        members=len(group.roster),
    )


def _begin_empty(act: Act) -> None:
    """Nobody is left. Should the record be refused, whoever is to be answered is told so; the
    generation before lives on in the log, and its members time out when it is loaded.
    """
    group = act.group
    group.protocol_name = None
    group.topics = subscribed_topics(group)
    group.enter(ClassicState.EMPTY, act.now_ms)
    act.effects.records.append(group_record(group, {}))
    act.effects.replays = False
    _logger.info("group is empty", group=group.group_id, generation=group.generation)


def sync_timed_out(act: Act) -> None:
    """Who has not synced by now is no member any more."""
    group = act.group
    working = group.phase in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE)
    if not working or not group.syncs_due:
        return
    late = sorted(group.syncs_due)
    for member_id in late:
        member = group.roster.get(member_id)
        if member is not None:
            act.answer_sync(member, KafkaError(ErrorCode.UNKNOWN_MEMBER_ID))
        group.remove(member_id)
        act.unwatch(member_id)
    prepare(act, f"members have not synced in time: {', '.join(late)}")
