"""Groups that read topics, by what they have committed."""

from tests.coordinators.groups.test_commits import driver, store, topic_offsets
from trio_kafka.coordinators.groups.facts.topic_readers import groups_of_topics, readers_of_topic
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.introspect.facts.topics import TopicReader
from trio_kafka.scheduling.chunked_work import step, whole
from trio_kafka.testing.machines import MachineDriver


def three_groups() -> MachineDriver[Groups]:
    groups = driver()
    store(groups, topic_offsets(3, 0, topic="t"), "a")
    store(groups, topic_offsets(9, 1, topic="t"), "a")
    store(groups, topic_offsets(1, 0, topic="t"), "b")
    store(groups, topic_offsets(1, 0, topic="u"), "b")
    store(groups, topic_offsets(1, 0, topic="u"), "c")
    return groups


def test_groups_of_topics_are_those_that_have_committed_for_them() -> None:
    machines = [three_groups().machine]

    both = whole(groups_of_topics(machines, {"t", "u"}, lambda group_id: True, 10))
    wide = whole(groups_of_topics(machines, {"t", "v", "w", "x"}, lambda group_id: True, 10))

    assert both == {"t": ("a", "b"), "u": ("b", "c")}
    assert wide == {"t": ("a", "b")}


def test_groups_of_topics_are_bounded_and_only_those_that_the_reader_may_see() -> None:
    machines = [three_groups().machine]

    cut = whole(groups_of_topics(machines, {"t", "u"}, lambda group_id: True, 1))
    visible = whole(groups_of_topics(machines, {"t", "u"}, lambda group_id: group_id == "c", 10))

    assert cut == {"t": ("a",), "u": ("b",)}
    assert visible == {"u": ("c",)}


def test_readers_of_a_topic_have_their_lag_in_it_the_greatest_first() -> None:
    machines = [three_groups().machine]

    readers = whole(readers_of_topic(machines, "t", lambda *_: 10, lambda group_id: True, 10))

    assert readers == [
        TopicReader(group_id="b", state="Empty", members=0, partitions=1, lag=9),
        TopicReader(group_id="a", state="Empty", members=0, partitions=2, lag=8),
    ]


def test_readers_are_bounded_and_only_those_that_the_reader_may_see() -> None:
    machines = [three_groups().machine]

    cut = whole(readers_of_topic(machines, "t", lambda *_: 10, lambda group_id: True, 1))
    visible = whole(
        readers_of_topic(machines, "t", lambda *_: None, lambda group_id: group_id == "a", 10)
    )

    assert [reader.group_id for reader in cut] == ["b"]
    assert [(reader.group_id, reader.lag) for reader in visible] == [("a", 0)]


def test_many_groups_are_searched_in_steps() -> None:
    groups = driver()
    for number in range(500):
        store(groups, topic_offsets(3), f"g{number}")
    steps = groups_of_topics([groups.machine], {"t"}, lambda group_id: True, 10)

    count = 1
    while step(steps) is None:
        count += 1

    assert count >= 4
