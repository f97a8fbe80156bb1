"""Counts of subscribers, by names and by topic_regexes."""

from trio_kafka.coordinators.groups.consumer.member import Member
from trio_kafka.coordinators.groups.consumer.subscriptions import (
    Count,
    Counts,
    Resolved,
    Subscriptions,
    add,
    add_one,
    homogeneous,
)
from trio_kafka.scheduling.chunked_work import whole


def member(*topics: str, regex: str = "") -> Member:
    return Member(member_id="m", topics=topics, regex=regex)


def test_topic_is_counted_from_its_first_subscriber_to_its_last() -> None:
    subscriptions = Subscriptions()

    subscriptions.replace(None, member("a", "b"))
    subscriptions.replace(None, member("b"))
    subscriptions.resolve("x", Resolved(frozenset({"b", "c"}), 1, 1))
    assert subscriptions.topics == {"a": Count(1, 0), "b": Count(2, 1), "c": Count(0, 1)}
    subscriptions.replace(member("a", "b"), member("a"))
    subscriptions.replace(member("b"), None)
    subscriptions.resolve("x", Resolved(frozenset({"c"}), 1, 1))
    assert subscriptions.topics == {"a": Count(1, 0), "c": Count(0, 1)}
    subscriptions.resolve("x", None)
    subscriptions.resolve("x", None)

    assert subscriptions.topics == {"a": Count(1, 0)}


def test_hypothetical_counts_do_not_change_the_subscriptions() -> None:
    subscriptions = Subscriptions()
    before = member("a", regex="x")
    subscriptions.replace(None, before)
    subscriptions.replace(None, member("a"))
    subscriptions.resolve("x", Resolved(frozenset({"b"}), 1, 1))

    assert whole(subscriptions.topics_with(before, member("c", regex="x"))) == {
        "a": Count(1, 0),
        "b": Count(0, 1),
        "c": Count(1, 0),
    }
    assert whole(subscriptions.topics_with(before, member("a"))) == {"a": Count(2, 0)}
    assert whole(subscriptions.topics_without([before], ["x", "unknown"])) == {"a": Count(1, 0)}
    resolved = {"x": Resolved(frozenset({"a"}), 1, 1)}
    assert whole(subscriptions.topics_if_resolved(resolved)) == {"a": Count(2, 1)}
    assert subscriptions.regexes_with(before, member(regex="y")) == {"y": 1}
    assert subscriptions.regexes_with(None, member(regex="x")) == {"x": 2}
    assert subscriptions.topics == {"a": Count(2, 0), "b": Count(0, 1)}
    assert subscriptions.regexes == {"x": 1}


def test_many_topics_are_counted_in_steps() -> None:
    many = member(*(f"t{number}" for number in range(10_000)))
    subscriptions = Subscriptions()
    joined = sum(1 for _ in subscriptions.topics_with(None, many))
    subscriptions.replace(None, many)
    resolved = {"x": Resolved(frozenset(many.topics), 1, 1)}

    after_leaving = sum(1 for _ in subscriptions.topics_without([many], []))
    matched = sum(1 for _ in subscriptions.topics_if_resolved(resolved))

    assert (joined, after_leaving, matched) == (20, 20, 20)


def test_member_subscribes_to_named_topics_and_to_matches_of_its_expression() -> None:
    subscriptions = Subscriptions()
    subscriptions.resolve("x", Resolved(frozenset({"c", "a"}), 1, 1))

    assert subscriptions.names(member("b", regex="x")) == ["a", "b", "c"]
    assert subscriptions.names(member("b", regex="unknown")) == ("b",)
    assert subscriptions.names(member("b")) == ("b",)


def test_subscriptions_have_the_latest_refresh_time_and_the_oldest_image_version() -> None:
    subscriptions = Subscriptions()
    assert subscriptions.refreshed_ms < 0
    assert subscriptions.version == 0

    subscriptions.resolve("x", Resolved(frozenset(), 5, 100))
    subscriptions.resolve("y", Resolved(frozenset(), 7, 90))

    assert (subscriptions.refreshed_ms, subscriptions.version) == (100, 5)


def test_group_is_homogeneous_when_all_members_subscribe_to_the_same_topics() -> None:
    def named(**counts: int) -> Counts:
        return {topic: Count(count, 0) for topic, count in counts.items()}

    assert homogeneous({}, {}, 3)
    assert homogeneous({}, named(a=3, b=3), 3)
    assert not homogeneous({}, named(a=3, b=2), 3)
    matched = {"a": Count(0, 1)}
    assert homogeneous({"x": 3}, matched, 3)
    assert not homogeneous({"x": 2}, matched, 3)
    assert not homogeneous({"x": 3, "y": 1}, matched, 3)
    assert not homogeneous({"x": 3}, {"a": Count(1, 1)}, 3)
    assert not homogeneous({"x": 3}, {"a": Count(0, 2)}, 3)


def test_zero_counts_are_removed() -> None:
    counts: Counts = {}
    add(counts, "a", -1, 0)
    assert counts == {}
    names: dict[str, int] = {}
    add_one(names, None, 1)
    add_one(names, "", 1)
    add_one(names, "a", 2)
    add_one(names, "a", -1)
    assert names == {"a": 1}
    add_one(names, "a", -1)
    assert names == {}
