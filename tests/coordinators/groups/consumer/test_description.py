"""A group as tools see it."""

from typing import Any

from tests.coordinators.groups.consumer.classic import Member
from tests.coordinators.groups.consumer.kit import GROUP, Scene, refusal, topic_id
from trio_kafka.coordinators.groups.consumer.description import describe
from trio_kafka.coordinators.groups.consumer.values import DescribedGroup, DescribedTopic
from trio_kafka.errors import ErrorCode


def described(scene: Scene, group_id: str = GROUP) -> DescribedGroup:
    result: Any = scene.driver.ask(
        lambda groups, ticket, now_ms: describe(groups, group_id, ticket, now_ms)
    )
    assert isinstance(result, DescribedGroup)
    return result


def test_description_lists_partitions_that_a_member_has_not_yet_revoked() -> None:
    scene = Scene({"a": 4, "b": 1})
    scene.join("m1", "a", "b", rack_id="r", assignor="range")
    scene.join("m2", "a", instance_id="i")
    scene.beat("m1")

    group = described(scene)

    assert (group.state, group.epoch, group.assignment_epoch) == ("Reconciling", 3, 3)
    assert group.assignor == "range"
    first, second = group.members
    a, b = topic_id("a"), topic_id("b")
    assert first.assigned == [DescribedTopic(a, "a", [0, 1, 2, 3]), DescribedTopic(b, "b", [0])]
    assert second.assigned == []
    assert (first.rack_id, second.instance_id) == ("r", "i")
    assert (first.epoch, second.epoch) == (2, 3)
    assert sorted(
        number
        for member in (first, second)
        for topic in member.target
        for number in topic.partitions
    ) == [0, 0, 1, 2, 3]
    assert not first.classic


def test_description_omits_deleted_topics_and_marks_classic_members() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    Member(scene, ["a"]).join(asks_for_id=False)
    scene.delete("a")

    first, second = described(scene).members

    assert (first.assigned, first.target) == ([], [])
    assert second.classic


def test_describing_an_unknown_or_other_group_type_raises_group_id_not_found() -> None:
    scene = Scene()
    scene.driver.machine.group_or_simple("simple")

    with refusal(ErrorCode.GROUP_ID_NOT_FOUND, "Group x not found."):
        described(scene, "x")
    with refusal(ErrorCode.GROUP_ID_NOT_FOUND, "Group simple is not a consumer group."):
        described(scene, "simple")
