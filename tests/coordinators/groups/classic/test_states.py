"""The state table of classic groups: every way from one state into another, and no other."""

from collections.abc import Callable
from itertools import product

import pytest

from tests.coordinators.groups.classic.kit import (
    BOTH,
    RANGE,
    REBALANCE_MS,
    SESSION_MS,
    ClassicKit,
)
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.states import (
    TRANSITIONS,
    ClassicState,
    GroupEvent,
)
from trio_kafka.coordinators.groups.classic.transition import end_group
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError

EMPTY, PREPARING, STABLE, DEAD = "Empty", "PreparingRebalance", "Stable", "Dead"
COMPLETING = "CompletingRebalance"
Way = Callable[[ClassicKit], None]


def empty(kit: ClassicKit) -> None:
    kit.new_id()


def preparing(kit: ClassicKit) -> None:
    """Two members of a group that was stable: one has come back, the other not yet."""
    members = kit.stable(protocols=BOTH)
    kit.join(members[0], protocols=BOTH)


def completing(kit: ClassicKit) -> None:
    kit.completing(protocols=BOTH)


def stable(kit: ClassicKit) -> None:
    kit.stable(protocols=BOTH)


def ids(kit: ClassicKit) -> list[str]:
    return [member.member_id for member in kit.group.membership]


def end(kit: ClassicKit) -> None:
    kit.driver.apply(lambda _, now_ms: end_group(kit.group, ErrorCode.NOT_COORDINATOR, now_ms))


def a_new_member_joins(kit: ClassicKit) -> None:
    kit.join(kit.new_id(protocols=BOTH), protocols=BOTH)


def a_new_static_member_joins(kit: ClassicKit) -> None:
    kit.join(instance="i", protocols=BOTH)


def a_new_member_of_an_old_version_joins(kit: ClassicKit) -> None:
    kit.join(version=3, protocols=BOTH)


def the_leader_joins(kit: ClassicKit) -> None:
    kit.join(ids(kit)[0], protocols=BOTH)


def a_follower_joins_with_other_protocols(kit: ClassicKit) -> None:
    kit.join(ids(kit)[1], protocols=RANGE)


def the_others_join(kit: ClassicKit) -> None:
    kit.join(ids(kit)[1], protocols=BOTH)


def a_member_leaves(kit: ClassicKit) -> None:
    kit.leave(ids(kit)[1])


def all_leave(kit: ClassicKit) -> None:
    kit.leave(*ids(kit))


def a_member_is_silent(kit: ClassicKit) -> None:
    kit.wait(SESSION_MS - 1000)
    kit.beat(ids(kit)[0])
    kit.wait(1000)


def all_are_silent(kit: ClassicKit) -> None:
    kit.wait(2 * REBALANCE_MS)
    kit.wait(2 * REBALANCE_MS)


def time_to_join_is_over(kit: ClassicKit) -> None:
    """The members live, but one of them does not join."""
    beating_for(kit, REBALANCE_MS)


def time_to_sync_is_over(kit: ClassicKit) -> None:
    """The members live, but not all of them sync."""
    kit.sync(ids(kit)[1])
    beating_for(kit, REBALANCE_MS)


def beating_for(kit: ClassicKit, ms: int) -> None:
    for _ in range(0, ms, SESSION_MS // 2):
        for member in ids(kit):
            kit.beat(member)
        kit.wait(SESSION_MS // 2)


def the_leader_syncs(kit: ClassicKit) -> None:
    kit.sync(ids(kit)[0], {})


def the_record_is_refused(kit: ClassicKit) -> None:
    kit.driver.refuse = KafkaError(ErrorCode.NOT_COORDINATOR)
    kit.sync(ids(kit)[0], {})


def a_static_member_is_back(kit: ClassicKit) -> None:
    kit.join(instance="i", protocols=BOTH)
    kit.join(instance="i", protocols=BOTH)


WAYS: list[tuple[Way, Way, str]] = [
    (empty, a_new_member_joins, PREPARING),
    (empty, a_new_static_member_joins, PREPARING),
    (empty, a_new_member_of_an_old_version_joins, PREPARING),
    (empty, end, DEAD),
    (preparing, the_others_join, COMPLETING),
    (preparing, a_member_leaves, COMPLETING),
    (preparing, a_member_is_silent, COMPLETING),
    (preparing, time_to_join_is_over, COMPLETING),
    (preparing, all_leave, EMPTY),
    (preparing, all_are_silent, EMPTY),
    (preparing, end, DEAD),
    (completing, the_leader_syncs, STABLE),
    (completing, a_new_member_joins, PREPARING),
    (completing, a_follower_joins_with_other_protocols, PREPARING),
    (completing, a_member_leaves, PREPARING),
    (completing, a_member_is_silent, PREPARING),
    (completing, time_to_sync_is_over, PREPARING),
    (completing, the_record_is_refused, PREPARING),
    (completing, all_leave, EMPTY),  # through PreparingRebalance
    (completing, end, DEAD),
    (stable, a_new_member_joins, PREPARING),
    (stable, a_new_static_member_joins, PREPARING),
    (stable, the_leader_joins, PREPARING),
    (stable, a_follower_joins_with_other_protocols, PREPARING),
    (stable, a_member_leaves, PREPARING),
    (stable, a_member_is_silent, PREPARING),
    (stable, all_leave, EMPTY),  # through PreparingRebalance
    (stable, end, DEAD),
]


@pytest.mark.parametrize(
    ("start", "way", "target"),
    WAYS,
    ids=[f"{start.__name__}-{way.__name__}" for start, way, _ in WAYS],
)
def test_each_transition_event_moves_the_group_into_its_target_state(
    start: Way, way: Way, target: str
) -> None:
    kit = ClassicKit()
    start(kit)
    before = kit.state

    way(kit)

    assert kit.state == target
    assert before != target


STAYS: list[tuple[Way, Way]] = [
    (empty, empty),
    (preparing, a_new_member_joins),
    (preparing, a_static_member_is_back),
    (completing, the_leader_joins),
    (stable, the_others_join),
    (stable, the_leader_syncs),
]


@pytest.mark.parametrize(
    ("start", "way"), STAYS, ids=[f"{start.__name__}-{way.__name__}" for start, way in STAYS]
)
def test_event_without_a_transition_keeps_state_and_generation(start: Way, way: Way) -> None:
    kit = ClassicKit()
    start(kit)
    before, generation = kit.state, kit.group.generation

    way(kit)

    assert (kit.state, kit.group.generation) == (before, generation)


def test_every_transition_of_the_state_table_has_a_test_case() -> None:
    """Those through PreparingRebalance show two, and Dead may be entered twice."""
    names = {"empty": EMPTY, "preparing": PREPARING, "completing": COMPLETING, "stable": STABLE}
    shown = {(names[start.__name__], target) for start, _, target in WAYS}
    table = {(before.value, after.value) for (before, _), after in TRANSITIONS.items()}

    assert table - {(DEAD, DEAD)} <= shown


@pytest.mark.parametrize(("before", "event"), list(product(ClassicState, GroupEvent)))
def test_event_outside_the_state_table_raises_an_invariant_error(
    before: ClassicState, event: GroupEvent
) -> None:
    group = ClassicGroup(group_id="g", phase=before, since_ms=1)
    after = TRANSITIONS.get((before, event))

    if after is not None:
        group.change_state(event, 2)
        assert (group.phase, group.before, group.since_ms) == (after, before, 2)
    else:
        with pytest.raises(InvariantError, match=f"group g: event {event.name}"):
            group.change_state(event, 2)
        assert (group.phase, group.since_ms) == (before, 1)


def test_state_table_allows_the_changes_of_state_that_kafka_allows() -> None:
    """Source: ClassicGroupState of Apache Kafka 4.4.0, valid previous states."""
    before: dict[str, set[str]] = {state.value: set() for state in ClassicState}
    for (state, _), after in TRANSITIONS.items():
        before[after.value].add(state.value)

    assert before == {
        EMPTY: {PREPARING},
        PREPARING: {STABLE, COMPLETING, EMPTY},
        COMPLETING: {PREPARING},
        STABLE: {COMPLETING},
        DEAD: {EMPTY, PREPARING, COMPLETING, STABLE, DEAD},
    }
