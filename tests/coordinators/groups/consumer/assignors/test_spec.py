"""Arguments of an assignor."""

from trio_kafka.coordinators.groups.consumer.assignors.spec import GroupSpec, MemberSpec, no_racks
from trio_kafka.model import TopicId


def test_new_member_has_no_assignment_instance_or_rack() -> None:
    member = MemberSpec(topics={})

    assert (member.assigned, member.instance_id, member.rack_id) == ({}, None, None)


def test_group_spec_has_no_owners_and_no_racks_by_default() -> None:
    group = GroupSpec(members={}, homogeneous=True)

    assert group.owners == {}
    assert group.racks is no_racks
    assert group.racks(TopicId(bytes(16)), 0) == frozenset()
