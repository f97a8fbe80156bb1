"""Subscriptions by regular expression: when topics are looked through, and what comes of it."""

import pytest

from tests.coordinators.groups.consumer.classic import Member
from tests.coordinators.groups.consumer.kit import GROUP, Scene, refusal
from trio_kafka.coordinators.groups.consumer import topic_regexes
from trio_kafka.coordinators.groups.consumer.assignors.spec import (
    AssignorError,
    GroupAssignment,
    GroupSpec,
)
from trio_kafka.coordinators.groups.consumer.regex_pattern import compiled, rejection
from trio_kafka.coordinators.groups.consumer.transition import REGEX
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.groups.consumer import ConsumerGroupRegularExpressionKey


def matches_of(scene: Scene) -> dict[str, list[str]]:
    return {
        regex: sorted(matches.topics)
        for regex, matches in scene.group.subscriptions.resolved.items()
    }


def looks(scene: Scene) -> int:
    """How often the log says what an expression matched."""
    return sum(
        isinstance(record.key, ConsumerGroupRegularExpressionKey) and record.value is not None
        for record in scene.driver.records
    )


@pytest.mark.parametrize("regex", ["(", "a{2,1}", "(?=a)", r"a\1", "[z-a]"])
def test_join_with_an_invalid_expression_is_refused(regex: str) -> None:
    scene = Scene({"a": 1})

    with refusal(ErrorCode.INVALID_REGULAR_EXPRESSION):
        scene.join("m1", regex=regex)
    with pytest.raises(KafkaError, match="is not a valid regular expression: "):
        compiled(regex)

    assert GROUP not in scene.driver.machine.by_id


def test_member_with_an_expression_joins_first_and_gets_matched_topics_by_a_later_heartbeat() -> (
    None
):
    scene = Scene({"apple": 1, "anise": 1, "pear": 1})

    joined = scene.join("m1", regex="a.*")

    assert (joined.epoch, joined.assignment) == (1, {})
    assert matches_of(scene) == {}
    scene.wait(0)
    assert matches_of(scene) == {"a.*": ["anise", "apple"]}
    assert scene.group.state == "Assigning"
    assert scene.beat("m1").epoch == 2
    assert scene.has("m1") == {"anise": [0], "apple": [0]}
    assert scene.group.state == "Stable"


def test_refused_records_of_the_first_member_leave_no_search() -> None:
    scene = Scene({"a": 1})
    scene.driver.refuse = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    with refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE):
        scene.join("m1", regex="a")
    scene.driver.refuse = None
    scene.wait(0)

    scene.join("m1", regex="a")
    scene.wait(0)

    assert matches_of(scene) == {"a": ["a"]}


class BrokenAssignor:
    """Assignor of a plugin that fails while it is told so."""

    name = "mine"
    fails = True

    def assign(self, group: GroupSpec) -> GroupAssignment:
        if self.fails:
            raise AssignorError("the database is away")
        return {}


@pytest.mark.parametrize("is_classic", [False, True])
def test_assignor_that_fails_with_the_event_of_a_search_prevents_no_later_search(
    is_classic: bool,
) -> None:
    scene, assignor = Scene({"a": 1}, consumer_assignors=("mine",)), BrokenAssignor()
    scene.assignors.swap((), [assignor])
    if is_classic:
        assignor.fails = False
        scene.join("m1", regex="a")
        assignor.fails = True
        scene.searches.full = True  # the first search is postponed
        scene.wait(0)
        with refusal(ErrorCode.UNKNOWN_SERVER_ERROR):
            Member(scene, ["a"]).join(asks_for_id=False)
    else:
        with refusal(ErrorCode.UNKNOWN_SERVER_ERROR):
            scene.join("m1", "a", regex="a")

    assert scene.state.searches == {}
    assignor.fails = scene.searches.full = False
    scene.join("m1", regex="a")
    scene.wait(0)
    assert matches_of(scene) == {"a": ["a"]}


def test_expressions_match_whole_names() -> None:
    scene = Scene({"a": 1, "ab": 1, "ba": 1})
    scene.join("m1", regex="a")
    scene.wait(0)

    assert matches_of(scene) == {"a": ["a"]}


def test_named_topics_and_matches_of_the_expression_are_both_assigned() -> None:
    scene = Scene({"a": 1, "b": 1, "c": 1})
    scene.join("m1", "c", regex="[ab]")
    scene.wait(0)
    scene.settle()

    assert scene.has("m1") == {"a": [0], "b": [0], "c": [0]}


def test_member_with_a_known_expression_is_assigned_without_a_new_search() -> None:
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


def test_created_topic_is_matched_at_the_earliest_ten_seconds_after_the_last_search() -> None:
    scene = Scene({"a1": 1})
    scene.join("m1", regex="a.*")
    scene.wait(0)
    scene.beat("m1")
    scene.create(a2=1)

    scene.wait(10_000)
    scene.beat("m1")
    scene.wait(0)
    assert matches_of(scene) == {"a.*": ["a1"]}
    scene.wait(1)
    scene.beat("m1")
    scene.wait(0)
    assert matches_of(scene) == {"a.*": ["a1", "a2"]}
    scene.beat("m1")

    assert scene.has("m1") == {"a1": [0], "a2": [0]}


def test_expressions_are_searched_again_after_the_refresh_interval() -> None:
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


def test_new_expression_of_a_member_replaces_the_old_expression() -> None:
    scene = Scene({"a": 1, "b": 1})
    scene.join("m1", regex="a")
    scene.wait(0)
    scene.settle()
    scene.wait(20_000)

    answer = scene.beat("m1", regex="b")

    assert answer.assignment == {}, "what it does not want it gives back at once"
    scene.wait(0)
    scene.settle()
    assert matches_of(scene) == {"b": ["b"]}
    assert scene.has("m1") == {"b": [0]}


def test_new_expression_soon_after_a_search_waits_for_the_next_search() -> None:
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


def test_member_that_drops_its_expression_keeps_its_named_topics() -> None:
    scene = Scene({"a": 1, "b": 1})
    scene.join("m1", "a", regex="b")
    scene.wait(0)
    scene.settle()

    scene.beat("m1", regex="")
    scene.settle()

    assert scene.has("m1") == {"a": [0]}
    assert matches_of(scene) == {}


def test_search_uses_the_topics_of_a_single_metadata_image() -> None:
    scene = Scene({f"t{number:04}": 1 for number in range(1200)})
    scene.join("m1", regex="t.*")
    scene.driver.advance(0)
    scene.create(tooLate=1, t0000=2)

    scene.end_search()

    assert len(matches_of(scene)["t.*"]) == 1200


def test_result_of_a_search_unknown_to_a_reloaded_shard_is_ignored() -> None:
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
    assert matches_of(scene) == {}

    scene.beat("m1")
    scene.wait(0)

    assert matches_of(scene) == {"a": ["a"]}


def test_search_above_the_limit_starts_with_a_later_heartbeat() -> None:
    scene = Scene({"a": 1})
    scene.searches.full = True
    scene.join("m1", regex="a")
    scene.wait(0)
    assert matches_of(scene) == {}
    scene.searches.full = False

    scene.beat("m1")
    scene.wait(0)

    assert matches_of(scene) == {"a": ["a"]}


def test_too_slow_expression_is_refused_and_matches_nothing() -> None:
    scene = Scene({"a": 1})
    scene.searches.too_slow["a"] = rejection("a", "matching takes longer than 5 s")
    with refusal(ErrorCode.INVALID_REGULAR_EXPRESSION):
        scene.join("m1", regex="a")
    del scene.searches.too_slow["a"]
    scene.join("m1", regex="a")
    scene.driver.advance(0)
    scene.searches.too_slow["a"] = rejection("a", "matching takes longer than 5 s")
    scene.end_search()

    assert matches_of(scene) == {"a": []}
    with refusal(ErrorCode.INVALID_REGULAR_EXPRESSION):
        scene.beat("m1")


def test_expression_without_members_is_not_written() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", regex="a")
    scene.join("m2", "a")
    scene.leave("m1")

    scene.wait(0)

    assert looks(scene) == 0
    assert matches_of(scene) == {}


def test_search_of_a_forgotten_group_writes_no_record() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", regex="a")
    scene.state.searches.clear()

    scene.wait(0)

    assert looks(scene) == 0
    assert isinstance(scene.submachine.timer((REGEX, "other"), 0), topic_regexes.Effects)


def test_invalid_expression_of_a_stored_member_matches_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene({"a": 1})
    scene.join("m1", regex="a")
    scene.wait(0)
    scene.group.subscriptions.regexes["("] = 1
    scene.wait(10_001)

    scene.beat("m1")
    scene.wait(0)

    assert matches_of(scene) == {"a": ["a"], "(": []}
    assert "regular expression rejected" in caplog.text


def test_expression_with_nested_repetitions_is_matched_in_linear_time() -> None:
    scene = Scene({"a" * 200 + "!": 1})

    scene.join("m1", regex="(a*)*(a*)*(a|aa)+" * 3 + "b")
    scene.wait(0)

    assert list(matches_of(scene).values()) == [[]]


def test_search_matches_only_topics_that_the_requesting_member_may_describe() -> None:
    scene = Scene({"apple": 1, "anise": 1})
    scene.join("m1", regex="a.*", may_describe=lambda topic: topic != "anise")
    scene.wait(0)

    assert matches_of(scene) == {"a.*": ["apple"]}
    only_anise = {"may_describe": lambda topic: topic == "anise"}
    for _ in range(31):
        scene.wait(20_000)
        scene.beat("m1", **only_anise)
        scene.wait(0)
    assert matches_of(scene) == {"a.*": ["anise"]}


def test_search_started_by_a_classic_member_uses_its_own_permissions() -> None:
    scene = Scene({"apple": 1, "anise": 1})
    scene.join("m1", regex="a.*")
    for _ in range(30):
        scene.wait(20_000)
        scene.beat("m1")
    scene.wait(1)
    Member(scene, ["apple"]).join(asks_for_id=False, may_describe=lambda topic: topic == "apple")
    scene.wait(0)

    assert matches_of(scene) == {"a.*": ["apple"]}
