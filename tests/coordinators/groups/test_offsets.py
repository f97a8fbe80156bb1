"""Offsets against a simple model, through crashes; and what old brokers wrote."""

from hypothesis import given
from hypothesis import strategies as st

from tests.coordinators.groups.test_commits import (
    TopicPartitions,
    ask,
    simple,
    store,
    topic_offsets,
)
from trio_kafka.coordinators.groups.classic.submachine import ClassicGroups
from trio_kafka.coordinators.groups.commits import commit, delete
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.offset_values import (
    Commit,
)
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import ZERO_TOPIC_ID
from trio_kafka.protocol.stored.groups.classic import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
)
from trio_kafka.testing.machines import MachineDriver

RETENTION_MS = 3_600_000
CHECK_MS = 600_000
GROUPS, TOPICS, PARTITIONS = ("g", "h"), ("t", "u"), (0, 1)
PLACES = st.tuples(st.sampled_from(GROUPS), st.sampled_from(TOPICS), st.sampled_from(PARTITIONS))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), PLACES),
        st.tuples(st.just("commit"), PLACES),
        st.tuples(st.just("delete"), PLACES),
        st.tuples(st.just("refused"), PLACES),
        st.tuples(st.just("uncommitted"), PLACES),
        st.tuples(st.just("crash"), st.none()),
        st.tuples(st.just("wait"), st.integers(1, 5)),
    ),
    max_size=40,
)
SETTINGS = GroupSettings(offsets_retention_ms=RETENTION_MS, retention_check_interval_ms=CHECK_MS)


def all_groups() -> Groups:
    return Groups((ClassicGroups,), simple=simple, settings=SETTINGS)


@given(STEPS)
def test_fetched_offset_is_the_last_committed_offset(steps) -> None:
    driver: MachineDriver[Groups] = MachineDriver(all_groups)
    model: dict[tuple[str, str, int], tuple[int, int]] = {}  # offset, and when

    for number, (action, argument) in enumerate(steps, 1):
        if action == "commit":
            group, topic, partition = argument
            store(driver, topic_offsets(number, partition, topic=topic), group)
            model[argument] = number, driver.now_ms
        elif action == "delete":
            group, topic, partition = argument
            topic_partitions = [TopicPartitions(topic, ZERO_TOPIC_ID, [partition])]
            ticket = driver.submit(
                lambda m, t, now, g=group, a=topic_partitions: delete(g, a, m, t, now)
            )
            if isinstance(driver.answers[ticket], KafkaError):
                assert driver.answers[ticket].code is ErrorCode.GROUP_ID_NOT_FOUND
                assert not any(place[0] == group for place in model)
            model.pop(argument, None)
        elif action == "refused":
            driver.refuse = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            ticket = driver.submit(committing(argument, number))
            assert driver.answers[ticket] is driver.refuse
            driver.refuse = None
        elif action == "uncommitted":
            driver.hold = True
            ticket = driver.submit(committing(argument, number))
            assert ticket not in driver.answers
            driver = driver.reload()  # it was never answered, and is lost
        elif action == "crash":
            driver = driver.reload()
        else:
            driver.advance(argument * CHECK_MS)
            check_expiry(driver, model)

        for place in ((g, t, p) for g in GROUPS for t in TOPICS for p in PARTITIONS):
            assert committed_offset(driver, place) == model.get(place, (-1, 0))[0]


def committing(place, number):
    group, topic, partition = place
    request = Commit(group_id=group, topics=topic_offsets(number, partition, topic=topic))
    return lambda machine, ticket, now: commit(request, machine, ticket, now)


def committed_offset(driver, place) -> int:
    group, topic, partition = place
    topic_partitions = TopicPartitions(topic, ZERO_TOPIC_ID, [partition])
    return ask(driver, topic_partitions, group_id=group)[0].partitions[0].offset


def check_expiry(driver, model) -> None:
    """Check that offsets older than their retention go at the next look, and younger ones stay."""
    for place, (_, at_ms) in list(model.items()):
        age_ms = driver.now_ms - at_ms
        gone = committed_offset(driver, place) == -1
        assert gone or age_ms < RETENTION_MS + CHECK_MS
        assert not gone or age_ms >= RETENTION_MS
        if gone:
            del model[place]


def test_offset_records_of_brokers_before_0_9_are_replayed() -> None:
    driver: MachineDriver[Groups] = MachineDriver(all_groups)
    key = LegacyOffsetCommitKey("g", "t", 0)

    driver.machine.replay(CoordinatorRecord(key, LegacyOffsetCommitValue(7, "m", 5)))
    assert committed_offset(driver, ("g", "t", 0)) == 7
    driver.machine.replay(CoordinatorRecord(key))
    assert committed_offset(driver, ("g", "t", 0)) == -1


def test_offsets_are_counted() -> None:
    driver: MachineDriver[Groups] = MachineDriver(all_groups)
    for partition in (0, 0, 1):
        store(driver, topic_offsets(1, partition))
    assert driver.machine.offsets.count == 2
    driver.machine.offsets.remove("g", "t", 0)
    driver.machine.offsets.remove("g", "t", 0)
    assert driver.machine.offsets.count == 1
    driver.machine.offsets.remove("g", "t", 1)
    assert driver.machine.offsets.by_group == {}
