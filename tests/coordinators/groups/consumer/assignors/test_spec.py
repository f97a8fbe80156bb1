"""What an assignor is told."""

from trio_kafka.coordinators.groups.consumer.assignors.spec import GroupSpec, MemberSpec, no_racks
from trio_kafka.model import TopicId


def test_a_member_that_is_new_has_nothing_and_says_nothing_of_itself() -> None:
    member = MemberSpec(topics={})

    assert (member.assigned, member.instance_id, member.rack_id) == ({}, None, None)


def test_a_group_knows_no_racks_unless_told() -> None:
    group = GroupSpec(members={}, homogeneous=True)

    assert group.owners == {}
    assert group.racks is no_racks
    assert group.racks(TopicId(bytes(16)), 0) == frozenset()
