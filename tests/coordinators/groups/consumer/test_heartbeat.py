"""Members join, are assigned, give back and get, by heartbeats alone."""

from tests.coordinators.groups.consumer.kit import GROUP, Scene


def test_who_joins_alone_gets_everything() -> None:
    scene = Scene({"a": 3, "b": 1})

    answer = scene.join("m1", "a", "b")

    assert answer.member_id == "m1"
    assert answer.epoch == 2
    assert answer.heartbeat_interval_ms == 5000
    assert scene.has("m1") == {"a": [0, 1, 2], "b": [0]}
    assert scene.group.state == "Stable"


def test_a_second_member_gets_what_the_first_has_given_back() -> None:
    scene = Scene({"a": 4})
    scene.join("m1", "a")

    assert scene.join("m2", "a").assignment == {}
    assert scene.group.state == "Reconciling"
    told = scene.beat("m1")
    assert told.epoch == 2
    assert scene.has("m1") == {"a": [0, 1]}
    assert scene.beat("m2").assignment is None
    assert scene.say_owned("m1").epoch == 3
    scene.beat("m2")

    assert scene.has("m1") == {"a": [0, 1]}
    assert scene.has("m2") == {"a": [2, 3]}
    assert scene.group.state == "Stable"
    assert scene.driver.reload().machine.group(GROUP).state == "Stable"
