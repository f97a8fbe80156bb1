"""Round-robin assignor."""

from trio_kafka.clients.consumer.groups.assignors.round_robin import assign_round_robin
from trio_kafka.clients.consumer.groups.assignors.values import MemberSubscription


def test_partitions_go_to_the_subscribers_in_turn():
    members = [
        MemberSubscription(member_id="a", topics=frozenset("xy")),
        MemberSubscription(member_id="b", topics=frozenset("y")),
    ]

    assignments = assign_round_robin({"x": 2, "y": 3, "z": 1}, members)

    assert [str(at) for at in assignments["a"]] == ["x-0", "x-1", "y-1"]
    assert [str(at) for at in assignments["b"]] == ["y-0", "y-2"]
