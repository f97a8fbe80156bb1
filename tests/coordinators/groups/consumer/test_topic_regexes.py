"""Subscriptions by regular expression: when topics are looked through, and what comes of it."""

import pytest

from tests.coordinators.groups.consumer.classic import Member
from tests.coordinators.groups.consumer.kit import GROUP, Scene, refusal
from trio_kafka.coordinators.groups.consumer import topic_regexes
from trio_kafka.coordinators.groups.consumer.regex_pattern import compiled, rejection
from trio_kafka.coordinators.groups.consumer.transition import REGEX
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.groups.consumer import ConsumerGroupRegularExpressionKey


def found(scene: Scene) -> dict[str, list[str]]:
    return {regex: sorted(one.topics) for regex, one in scene.group.subscriptions.resolved.items()}


def looks(scene: Scene) -> int:
    """How often the log says what an expression matched."""
    return sum(
        isinstance(record.key, ConsumerGroupRegularExpressionKey) and record.value is not None
        for record in scene.driver.records
    )


@pytest.mark.parametrize("regex", ["(", "a{2,1}", "(?=a)", r"a\1", "[z-a]"])
def test_what_is_no_expression_is_refused(regex: str) -> None:
    scene = Scene({"a": 1})

    with refusal(ErrorCode.INVALID_REGULAR_EXPRESSION):
        scene.join("m1", regex=regex)
    with pytest.raises(KafkaError, match="is not a valid regular expression: "):
        compiled(regex)

    assert GROUP not in scene.driver.machine.by_id


def test_a_member_joins_before_its_topics_are_known_and_gets_them_with_a_later_heartbeat() -> None:
    scene = Scene({"apple": 1, "anise": 1, "pear": 1})

    joined = scene.join("m1", regex="a.*")

    assert (joined.epoch, joined.assignment) == (1, {})
    assert found(scene) == {}
    scene.wait(0)
    assert found(scene) == {"a.*": ["anise", "apple"]}
    assert scene.group.state == "Assigning"
    assert scene.beat("m1").epoch == 2
    assert scene.has("m1") == {"anise": [0], "apple": [0]}
    assert scene.group.state == "Stable"


def test_a_first_member_that_could_not_be_stored_leaves_no_search_behind() -> None:
    scene = Scene({"a": 1})
    scene.driver.refuse = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    with refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE):
        scene.join("m1", regex="a")
    scene.driver.refuse = None
    scene.wait(0)

    scene.join("m1", regex="a")
    scene.wait(0)

    assert found(scene) == {"a": ["a"]}


def test_expressions_match_whole_names() -> None:
    scene = Scene({"a": 1, "ab": 1, "ba": 1})
    scene.join("m1", regex="a")
    scene.wait(0)

    assert found(scene) == {"a": ["a"]}


def test_names_and_an_expression_add_up() -> None:
    scene = Scene({"a": 1, "b": 1, "c": 1})
    scene.join("m1", "c", regex="[ab]")
    scene.wait(0)
    scene.settle()

    assert scene.has("m1") == {"a": [0], "b": [0], "c": [0]}


def test_who_brings_an_expression_that_is_known_is_assigned_at_once() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", regex="a")
    scene.wait(0)
    scene.settle()
    written = looks(scene)

    scene.join("m2", regex="a")
    scene.settle()

    assert (scene.has("m1"), scene.has("m2")) == ({"a": [0]}, {"a": [1]})
    assert looks(scene) == written
    assert scene.group.is_homogeneous


def test_a_topic_that_is_created_is_found_but_no_sooner_than_ten_seconds_after_the_last_look() -> (
    None
):
    scene = Scene({"a1": 1})
    scene.join("m1", regex="a.*")
    scene.wait(0)
    scene.beat("m1")
    scene.create(a2=1)

    scene.wait(10_000)
    scene.beat("m1")
    scene.wait(0)
    assert found(scene) == {"a.*": ["a1"]}
    scene.wait(1)
    scene.beat("m1")
    scene.wait(0)
    assert found(scene) == {"a.*": ["a1", "a2"]}
    scene.beat("m1")

    assert scene.has("m1") == {"a1": [0], "a2": [0]}


def test_topics_are_looked_through_again_from_time_to_time() -> None:
    scene = Scene({"a1": 1})
    scene.join("m1", regex="a.*")
    scene.wait(0)
    assert looks(scene) == 1

    for _ in range(30):
        scene.wait(20_000)
        scene.beat("m1")
        scene.wait(0)
    assert looks(scene) == 1
    epoch = scene.group.epoch
    scene.wait(1)
    scene.beat("m1")
    scene.wait(0)

    assert looks(scene) == 2
    assert scene.group.epoch == epoch, "nothing has changed"


def test_another_expression_takes_the_place_of_the_first() -> None:
    scene = Scene({"a": 1, "b": 1})
    scene.join("m1", regex="a")
    scene.wait(0)
    scene.settle()
    scene.wait(20_000)

    told = scene.beat("m1", regex="b")

    assert told.assignment == {}, "what it does not want it gives back at once"
    scene.wait(0)
    scene.settle()
    assert found(scene) == {"b": ["b"]}
    assert scene.has("m1") == {"b": [0]}


def test_an_expression_that_comes_soon_after_a_look_waits_for_the_next() -> None:
    scene = Scene({"a": 1, "b": 1})
    scene.join("m1", regex="a")
    scene.wait(0)
    scene.settle()

    scene.join("m2", regex="b")
    for _ in range(2):
        scene.wait(5_000)
        scene.settle()
        assert (REGEX, GROUP) not in scene.due
    scene.wait(1)
    scene.settle(rounds=1)
    scene.wait(0)
    scene.settle()

    assert scene.has("m2") == {"b": [0]}


def test_who_gives_its_expression_up_keeps_what_it_names() -> None:
    scene = Scene({"a": 1, "b": 1})
    scene.join("m1", "a", regex="b")
    scene.wait(0)
    scene.settle()

    scene.beat("m1", regex="")
    scene.settle()

    assert scene.has("m1") == {"a": [0]}
    assert found(scene) == {}


def test_a_search_sees_the_topics_of_one_image() -> None:
    scene = Scene({f"t{number:04}": 1 for number in range(1200)})
    scene.join("m1", regex="t.*")
    scene.driver.advance(0)
    scene.create(tooLate=1, t0000=2)

    scene.end_search()

    assert len(found(scene)["t.*"]) == 1200


def test_a_search_that_a_reloaded_shard_has_forgotten_changes_nothing() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", regex="a")
    scene.driver.advance(0)
    scene.state.searches.clear()

    scene.end_search()

    assert looks(scene) == 0


def test_a_failed_search_is_repeated_with_the_next_heartbeat() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", regex="a")
    scene.driver.advance(0)
    scene.searches.waiting[0].failed = True
    scene.end_search()
    assert found(scene) == {}

    scene.beat("m1")
    scene.wait(0)

    assert found(scene) == {"a": ["a"]}


def test_a_search_that_is_one_too_many_starts_with_a_later_heartbeat() -> None:
    scene = Scene({"a": 1})
    scene.searches.full = True
    scene.join("m1", regex="a")
    scene.wait(0)
    assert found(scene) == {}
    scene.searches.full = False

    scene.beat("m1")
    scene.wait(0)

    assert found(scene) == {"a": ["a"]}


def test_members_whose_expression_takes_too_long_are_told_so_and_match_nothing() -> None:
    scene = Scene({"a": 1})
    scene.searches.too_slow["a"] = rejection("a", "matching takes longer than 5 s")
    with refusal(ErrorCode.INVALID_REGULAR_EXPRESSION):
        scene.join("m1", regex="a")
    del scene.searches.too_slow["a"]
    scene.join("m1", regex="a")
    scene.driver.advance(0)
    scene.searches.too_slow["a"] = rejection("a", "matching takes longer than 5 s")
    scene.end_search()

    assert found(scene) == {"a": []}
    with refusal(ErrorCode.INVALID_REGULAR_EXPRESSION):
        scene.beat("m1")


def test_an_expression_that_nobody_wants_any_more_is_not_written_down() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", regex="a")
    scene.join("m2", "a")
    scene.leave("m1")

    scene.wait(0)

    assert looks(scene) == 0
    assert found(scene) == {}


def test_a_look_of_a_group_that_is_gone_is_over() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", regex="a")
    scene.state.searches.clear()

    scene.wait(0)

    assert looks(scene) == 0
    assert isinstance(scene.submachine.timer((REGEX, "other"), 0), topic_regexes.Effects)


def test_what_somebody_took_for_an_expression_matches_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene({"a": 1})
    scene.join("m1", regex="a")
    scene.wait(0)
    scene.group.subscriptions.regexes["("] = 1
    scene.wait(10_001)

    scene.beat("m1")
    scene.wait(0)

    assert found(scene) == {"a": ["a"], "(": []}
    assert "regular expression rejected" in caplog.text


def test_a_member_that_matches_everything_by_a_long_way_is_answered_in_linear_time() -> None:
    scene = Scene({"a" * 200 + "!": 1})

    scene.join("m1", regex="(a*)*(a*)*(a|aa)+" * 3 + "b")
    scene.wait(0)

    assert list(found(scene).values()) == [[]]


def test_an_expression_matches_what_the_member_that_caused_the_search_may_describe() -> None:
    scene = Scene({"apple": 1, "anise": 1})
    scene.join("m1", regex="a.*", may_describe=lambda topic: topic != "anise")
    scene.wait(0)

    assert found(scene) == {"a.*": ["apple"]}
    only_anise = {"may_describe": lambda topic: topic == "anise"}
    for _ in range(31):
        scene.wait(20_000)
        scene.beat("m1", **only_anise)
        scene.wait(0)
    assert found(scene) == {"a.*": ["anise"]}


def test_a_classic_member_that_joins_searches_with_its_own_permissions() -> None:
    scene = Scene({"apple": 1, "anise": 1})
    scene.join("m1", regex="a.*")
    for _ in range(30):
        scene.wait(20_000)
        scene.beat("m1")
    scene.wait(1)
    Member(scene, ["apple"]).join(asks_for_id=False, may_describe=lambda topic: topic == "apple")
    scene.wait(0)

    assert found(scene) == {"a.*": ["apple"]}
