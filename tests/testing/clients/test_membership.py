"""Assignment of ranges. Joins and heartbeats are held by the consumer's tests."""

from trio_kafka.model import TopicPartition
from trio_kafka.testing.clients.membership import assign_ranges


def parts(topic, count):
    return [TopicPartition(topic, number) for number in range(count)]


def test_each_topic_is_shared_by_its_members_in_ranges():
    wanted = {"b": ["t", "u"], "a": ["t"]}

    found = assign_ranges(wanted, {"t": parts("t", 3), "u": parts("u", 2)})

    assert found == {
        "a": parts("t", 3)[:2],
        "b": [parts("t", 3)[2], *parts("u", 2)],
    }


def test_members_without_a_partition_get_none_and_topics_without_a_member_are_omitted():
    assert assign_ranges({"a": ["t"], "b": ["t"]}, {"t": parts("t", 1), "u": parts("u", 1)}) == {
        "a": parts("t", 1),
        "b": [],
    }
