"""Members of a consumer group: their heartbeats, what they owe, and until when."""

from tests.coordinators.groups.consumer.kit import Scene
from tests.coordinators.groups.facts.kit import facts_of, members_of


def test_member_of_a_stable_group_has_its_assignment_and_owes_nothing() -> None:
    scene = Scene({"a": 3})
    scene.join("m1", "a", client_id="shop")
    scene.wait(5000)

    member = members_of(scene.driver)["m1"]

    assert member.assigned == {"a": (0, 1, 2)}
    assert (member.heartbeat_s, member.left_s, member.owes) == (5.0, 40.0, "")
    assert member.client_id == "shop"


def test_member_that_must_give_up_partitions_owes_them_until_its_rebalance_timeout() -> None:
    scene = Scene({"a": 6})
    scene.join("m1", "a")
    scene.join("m2", "a")
    scene.beat("m1")  # learns that it must give up half of them
    scene.wait(2000)

    members = members_of(scene.driver)

    assert members["m1"].owes == "has not given up 3 partitions for 2 s"
    assert members["m1"].left_s == 8.0
    assert len(members["m1"].assigned["a"]) == 6  # it owns them until it has given them up
    assert (members["m2"].owes, members["m2"].assigned) == ("", {})


def test_one_partition_is_given_up_in_the_singular() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.join("m2", "a")
    scene.beat("m1")

    assert members_of(scene.driver)["m1"].owes == "has not given up 1 partition for 0 s"


def test_member_that_did_not_get_the_new_assignment_yet_owes_to_take_it_over() -> None:
    scene = Scene({"a": 6})
    scene.join("m1", "a")
    scene.join("m2", "a")

    facts = facts_of(scene.driver)

    owed = f"has not taken over assignment {scene.group.assignment_epoch}"
    assert [member.owes for member in facts.members] == [owed, ""]
    assert facts.state == "Reconciling"


def test_static_member_that_has_left_for_a_while_keeps_its_partitions_waiting() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a", instance_id="i")
    scene.leave("m1", epoch=-2, instance_id="i")

    (member,) = facts_of(scene.driver).members

    assert member.owes == "has left for a while; its partitions wait for it"
    assert member.instance_id == "i"


def test_topics_that_the_reader_may_not_see_are_left_out_of_the_assignment() -> None:
    scene = Scene({"a": 1, "b": 1})
    scene.join("m1", "a", "b")

    facts = facts_of(scene.driver, may_describe=lambda topic: topic == "b")

    assert [member.assigned for member in facts.members] == [{"b": (0,)}]


def test_deleted_topic_is_left_out_of_the_assignment() -> None:
    scene = Scene({"a": 1, "b": 1})
    scene.join("m1", "a", "b")
    scene.delete("a")

    assert members_of(scene.driver)["m1"].assigned == {"b": (0,)}
