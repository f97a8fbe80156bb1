"""ConsumerGroupHeartbeat: a member joins, sends changes, and takes a step towards its target.

Most heartbeats change nothing and are answered at once. The others make records: of the member if
it has changed; of the group's epoch if it must be assigned again; of the targets, computed by the
first heartbeat of an epoch; of the member's current assignment. Source: consumerGroupHeartbeat of
Apache Kafka 4.4.0.
"""

from typing import Final

from attrs import evolve

from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.consumer import records, topic_regexes, validation
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.leaving import leave
from trio_kafka.coordinators.groups.consumer.member import (
    Member,
    partitions_of,
    same_partitions,
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
from trio_kafka.coordinators.groups.consumer.target_assignment import may_assign, preferred_assignor
from trio_kafka.coordinators.groups.consumer.transition import Transition
from trio_kafka.coordinators.groups.consumer.upgrade import seal, upgrade
from trio_kafka.coordinators.groups.consumer.values import (
    JOIN_EPOCH,
    SAME,
    Heartbeat,
    HeartbeatAnswer,
)
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.offsets import schedule_expiry
from trio_kafka.coordinators.shards.effects import Effects, EventResult, Ticket
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps, sorted_in_steps

_AT_ONCE: Final = 1000  # topics sorted at once: 0.3 ms
_logger: Final = get_logger(__name__)


def heartbeat(request: Heartbeat, groups: Groups, ticket: Ticket, now_ms: int) -> EventResult:
    """Handle a heartbeat that has passed `validation.check_heartbeat`; answer with HeartbeatAnswer.

    Raises KafkaError: GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID,
    FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID, INVALID_REGULAR_EXPRESSION,
    UNKNOWN_SERVER_ERROR.
    """
    if request.topics is not None and len(request.topics) > _AT_ONCE:
        return _of_many_topics(request, groups, ticket, now_ms)
    return _heartbeat(request, groups, ticket, now_ms)


def _of_many_topics(
    request: Heartbeat, groups: Groups, ticket: Ticket, now_ms: int
) -> Steps[Effects]:
    """Handle a heartbeat whose topics are sorted in steps: 60,000 at once take 20 ms."""
    topics = yield from sorted_in_steps(request.topics or ())
    effects = _heartbeat(evolve(request, topics=topics), groups, ticket, now_ms)
    return effects if isinstance(effects, Effects) else (yield from effects)


def _heartbeat(request: Heartbeat, groups: Groups, ticket: Ticket, now_ms: int) -> EventResult:
    state = ConsumerShardState.of(groups)
    if request.epoch < JOIN_EPOCH:
        return leave(
            Transition.begin(state, state.existing(request.group_id), now_ms), request, ticket
        )
    if request.epoch == JOIN_EPOCH:
        transition = open_group(state, request.group_id, now_ms)
    else:
        transition = Transition.begin(
            state, state.existing(request.group_id, "Consumer group"), now_ms
        )
    check_room(transition, request.member_id, request.instance_id)
    before = _subscribed(transition, request)
    after = before.with_heartbeat(request)
    if after.regex:
        topic_regexes.check(transition, after.regex)
    if after is not before or transition.effects.records or not _is_assigned(transition):
        return _change(transition, request, before, after, ticket)
    group = transition.group
    target = Target(group.assignment_epoch, group.target_of(before))
    reached = advance(transition, before, target, resubscribed=False, owned=request.owned)
    return _reached(transition, request, before, reached, ticket)


def _subscribed(transition: Transition, request: Heartbeat) -> Member:
    """Return the member as it is, or a new one."""
    group, member_id = transition.group, request.member_id or request.fresh
    if request.epoch != JOIN_EPOCH:
        member = group.validated_member(member_id, request.instance_id)
        validation.check_heartbeat_epoch(member, request.epoch, request.owned)
        return member
    if request.instance_id is not None:
        return static_member(transition, request.instance_id, member_id, is_classic=False)
    _logger.info("member joined", group=group.group_id, member=member_id)
    return group.by_id.get(member_id) or Member(member_id=member_id)


def _is_assigned(transition: Transition) -> bool:
    """Return whether members only have to take steps towards the last targets, which no topic and
    no epoch makes obsolete yet.
    """
    group = transition.group
    regexes = group.subscriptions.regexes
    return (
        (group.epoch <= group.assignment_epoch or not may_assign(transition))
        and not group.needs_refresh(transition.now_ms)
        and not (regexes and topic_regexes.is_due(transition, regexes))
    )


def _change(
    transition: Transition, request: Heartbeat, before: Member, after: Member, ticket: Ticket
) -> Steps[Effects]:
    group_id = transition.group.group_id
    if after is not before:
        transition.write(records.subscription(group_id, after))
    regex = topic_regexes.update(transition, before, after)
    renamed = before.topics != after.topics
    bump = renamed or regex is topic_regexes.Change.RESOLVED
    if not bump and before.assignor != after.assignor:
        bump = preferred_assignor(transition) != preferred_assignor(transition, after)
    plan = yield from refresh_epoch_plan(transition, before, after, bump=bump)
    target = yield from target_for(transition, plan, after)
    resubscribed = renamed or regex is not topic_regexes.Change.NONE
    reached = advance(transition, after, target, resubscribed=resubscribed, owned=request.owned)
    seal(transition)
    topic_regexes.search_if_due(transition, before, after, request.may_describe)
    return _reached(transition, request, before, reached, ticket)


def _reached(
    transition: Transition, request: Heartbeat, before: Member, reached: Member, ticket: Ticket
) -> Effects:
    """Renew the session and answer. The answer has the assignment if it is new or was asked for."""
    transition.renew_session(reached.member_id)
    if request.epoch == JOIN_EPOCH and reached.member_id not in transition.group.by_id:
        transition.note(reached.client_id, "joined")
    tells = _wants_all(request) or not same_partitions(before.assigned, reached.assigned)
    answer = HeartbeatAnswer(
        reached.member_id,
        reached.epoch,
        transition.settings.consumer_heartbeat_interval_ms,
        partitions_of(reached.assigned) if tells else None,
    )
    return transition.effects.answer(ticket, answer)


def _wants_all(request: Heartbeat) -> bool:
    """Return whether the client may not know its assignment: it joins, or sends all fields as after
    an error.
    """
    return request.epoch == JOIN_EPOCH or (
        request.rebalance_timeout_ms != SAME
        and (request.topics is not None or request.regex is not None)
        and request.owned is not None
    )


def open_group(state: ConsumerShardState, group_id: str, now_ms: int) -> Transition:
    """Return the transition of the group that a member joins; create the group if there is none.

    A classic group is replaced if it is empty, and upgraded if that is allowed. A new group is not
    in `groups` before the replay of its records.
    Raises KafkaError(GROUP_ID_NOT_FOUND).
    """
    group = state.groups.by_id.get(group_id)
    if isinstance(group, ConsumerGroup):
        return Transition.begin(state, group, now_ms)
    if group is None:
        transition = Transition.begin(state, state.new(group_id), now_ms)
        schedule_expiry(transition.effects, state.groups.settings)
        return transition
    if not isinstance(group, ClassicGroup):
        return Transition.begin(state, state.existing(group_id), now_ms)
    state.histories[group_id] = group.history
    if not group.is_empty:
        return upgrade(state, group, now_ms)
    transition = Transition.begin(state, state.new(group_id), now_ms)
    transition.write(*group.tombstones())
    for key in group.timers():
        transition.effects.cancel_timer(key)
    return transition
