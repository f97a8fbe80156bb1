"""Range assignor."""

from trio_kafka.clients.consumer.groups.assignors.range import assign_range
from trio_kafka.clients.consumer.groups.assignors.values import MemberSubscription


def test_first_members_get_one_partition_more_of_each_topic_and_static_ones_come_first():
    members = [
        MemberSubscription(member_id="a", topics=frozenset("xy")),
        MemberSubscription(member_id="b", topics=frozenset("x"), instance_id="z"),
    ]

    assignments = assign_range({"x": 3, "y": 1}, members)

    assert [str(at) for at in assignments["b"]] == ["x-0", "x-1"]
    assert [str(at) for at in assignments["a"]] == ["x-2", "y-0"]
