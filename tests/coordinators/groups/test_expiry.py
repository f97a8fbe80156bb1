"""Offsets that go by themselves, and groups that go with them."""

import pytest
from attrs import evolve

from tests.coordinators.groups.classic.kit import ClassicKit
from tests.coordinators.groups.consumer.kit import Scene, refusal
from tests.coordinators.groups.test_commits import (
    T0,
    ask,
    driver,
    simple,
    store,
    topic_offsets,
    transactional,
)
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.submachine import ClassicGroups
from trio_kafka.coordinators.groups.commits import commit
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.offset_values import (
    Commit,
)
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import TopicId
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.machines import MachineDriver

EXPIRE = ("expire-group-metadata",)
DAY_MS = 86_400_000
CHECK_MS = 600_000
ID = TopicId(bytes(15) + b"\x07")
OTHER_ID = TopicId(bytes(15) + b"\x08")


def classic_driver(retention_ms: int = DAY_MS) -> MachineDriver[Groups]:
    settings = GroupSettings(offsets_retention_ms=retention_ms)
    return MachineDriver(lambda: Groups((ClassicGroups,), simple=simple, settings=settings))


def offsets(groups: MachineDriver[Groups]) -> list[int]:
    return [partition.offset for topic in ask(groups, T0) for partition in topic.partitions]


def test_offset_that_is_not_renewed_expires_with_its_group() -> None:
    groups = classic_driver()
    store(groups, topic_offsets(7))

    groups.advance(DAY_MS - CHECK_MS)
    assert offsets(groups) == [7]
    groups.advance(CHECK_MS)

    assert offsets(groups) == [-1]
    assert groups.machine.by_id == {}
    assert groups.reload().machine.by_id == {}


def test_renewed_offset_does_not_expire() -> None:
    groups = classic_driver()
    for offset in range(5):
        store(groups, topic_offsets(offset))
        groups.advance(DAY_MS // 2)

    assert offsets(groups) == [4]


def test_retention_requested_by_the_client_overrides_the_setting() -> None:
    groups = classic_driver()
    request = Commit(group_id="g", version=2, retention_ms=3 * DAY_MS, topics=topic_offsets(7))
    groups.ask(lambda machine, ticket, now: commit(request, machine, ticket, now))

    groups.advance(2 * DAY_MS)
    assert offsets(groups) == [7]
    groups.advance(DAY_MS + CHECK_MS)
    assert offsets(groups) == [-1]


def test_offset_of_a_subscribed_topic_does_not_expire() -> None:
    groups = classic_driver()
    store(groups, topic_offsets(7))
    store(groups, topic_offsets(8, topic="u"))
    group = groups.machine.by_id["g"]
    assert isinstance(group, ClassicGroup)
    group.protocol_type, group.since_ms, group.topics = "consumer", 0, frozenset({"t"})

    groups.advance(2 * DAY_MS)

    assert [record.key.topic for record in groups.records if record.value is None] == ["u"]
    assert offsets(groups) == [7]


def test_the_retention_of_an_empty_group_begins_when_it_became_empty() -> None:
    groups = classic_driver()
    store(groups, topic_offsets(7))
    group = groups.machine.by_id["g"]
    assert isinstance(group, ClassicGroup)
    group.protocol_type, group.since_ms, group.topics = (
        "consumer",
        groups.now_ms + DAY_MS,
        frozenset(),
    )

    groups.advance(DAY_MS + 2 * CHECK_MS)
    assert offsets(groups) == [7]
    groups.advance(DAY_MS)
    assert offsets(groups) == [-1]


def test_offset_with_a_pending_transaction_does_not_expire() -> None:
    groups = classic_driver()
    store(groups, topic_offsets(7))
    transactional(groups.machine, 1, 9)

    groups.advance(2 * DAY_MS)
    assert offsets(groups) == [7]
    whole(groups.machine.end_transaction(1, committed=False))
    groups.advance(CHECK_MS)
    assert offsets(groups) == [-1]


def test_expiry_of_many_groups_works_in_steps_with_non_atomic_tombstones() -> None:
    groups = classic_driver()
    for number in range(200):
        store(groups, topic_offsets(7), f"g{number}")
    steps = groups.machine.timer(("expire-group-metadata",), groups.now_ms + 2 * DAY_MS)
    assert not isinstance(steps, Effects)

    pauses, effects = 0, None
    while effects is None:
        try:
            next(steps)
            pauses += 1
        except StopIteration as end:
            effects = end.value

    assert pauses == 4
    assert not effects.atomic
    assert len(effects.records) == 400


@pytest.mark.parametrize(
    ("topic_id", "remaining"), [(ID, [-1]), (OTHER_ID, [7]), (bytes(16), [-1])]
)
def test_offsets_of_a_deleted_topic_are_removed_unless_the_topic_id_differs(
    topic_id: bytes, remaining: list[int]
) -> None:
    groups = driver()
    store(groups, topic_offsets(7, topic_id=topic_id))
    store(groups, topic_offsets(8, topic="u", topic_id=topic_id))
    delta = MetadataDelta(MetadataImage())
    delta.deleted_topics[ID] = "t"

    for change in groups.machine.image_changed(delta, evolve(MetadataImage(), offset=5)):
        groups.apply(change)

    assert offsets(groups) == remaining
    assert groups.machine.offsets.get("g", "u", 0) is not None
    assert groups.machine.image.offset == 5


def test_pending_offsets_of_a_deleted_topic_are_removed() -> None:
    groups = driver()
    store(groups, topic_offsets(7, 1))
    transactional(groups.machine, 1, 9)
    delta = MetadataDelta(MetadataImage())
    delta.deleted_topics[ID] = "t"

    for change in groups.machine.image_changed(delta, MetadataImage()):
        groups.apply(change)

    assert groups.machine.offsets.pending.open == 0
    whole(groups.machine.end_transaction(1, committed=True))
    assert offsets(groups) == [-1]


def test_expiry_timer_repeats_while_a_group_exists() -> None:
    groups = driver()
    assert groups.timers == {}

    store(groups, topic_offsets(7), "a")
    groups.advance(CHECK_MS - 1)
    store(groups, topic_offsets(7), "b")  # puts nothing off
    assert groups.timers == {EXPIRE: 1}
    groups.advance(10 * CHECK_MS)
    assert groups.timers == {EXPIRE: 1}
    assert groups.reload().timers == {EXPIRE: CHECK_MS}


def test_expiry_timer_stops_without_groups_and_restarts_with_a_new_group() -> None:
    groups = classic_driver()
    store(groups, topic_offsets(7))
    groups.advance(DAY_MS + CHECK_MS)
    assert groups.machine.by_id == {}
    groups.advance(CHECK_MS)
    assert groups.timers == {}

    store(groups, topic_offsets(8))
    assert groups.timers == {EXPIRE: CHECK_MS}
    groups.advance(DAY_MS + CHECK_MS)
    assert offsets(groups) == [-1]


def test_creating_a_group_starts_the_expiry_timer() -> None:
    kit = ClassicKit()
    kit.join()
    assert EXPIRE in kit.driver.timers

    scene = Scene({"t": 1})
    assert EXPIRE not in scene.driver.timers
    with refusal(ErrorCode.GROUP_ID_NOT_FOUND):
        scene.beat("a", epoch=3)
    assert EXPIRE not in scene.driver.timers
    scene.join("a", "t")
    assert EXPIRE in scene.driver.timers


def test_refused_commit_creates_no_group() -> None:
    groups = driver()
    request = Commit(group_id="g", member_id="m", epoch=3, topics=topic_offsets(7))

    with pytest.raises(KafkaError, match="GROUP_ID_NOT_FOUND"):
        groups.ask(lambda machine, ticket, now: commit(request, machine, ticket, now))

    assert groups.timers == {}
