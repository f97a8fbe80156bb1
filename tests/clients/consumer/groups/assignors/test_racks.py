"""Racks that make a difference, and which members are near."""

import pytest

from trio_kafka.clients.consumer.groups.assignors.racks import rack_match
from trio_kafka.clients.consumer.groups.assignors.values import MemberSubscription
from trio_kafka.model import TopicPartition

P = [TopicPartition("t", number) for number in range(2)]


def match_of(member_racks, *partition_racks):
    members = [
        MemberSubscription(member_id=f"m{number}", topics=frozenset("t"), rack=rack)
        for number, rack in enumerate(member_racks)
    ]
    return rack_match(members, P, dict(zip(P, map(frozenset, partition_racks), strict=True)))


@pytest.mark.parametrize(
    ("member_racks", "partition_racks", "is_used"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", None], ["a", "b"], True),
        ([None, None], ["a", "b"], False),
        (["x", "y"], ["a", "b"], False),
        (["a", "b"], ["ab", "ab"], False),
        (["a", "b"], ["", ""], False),
    ],
)
def test_racks_matter_if_a_member_is_near_to_some_partitions_only(
    member_racks, partition_racks, is_used
):
    assert match_of(member_racks, *partition_racks).is_used is is_used


def test_member_without_a_rack_fits_every_partition_and_is_near_to_none():
    match = match_of(["a", None], "a", "b")

    assert [match.fits("m0", at) for at in P] == [True, False]
    assert [match.is_near("m0", at) for at in P] == [True, False]
    assert [match.fits("m1", at) for at in P] == [True, True]
    assert [match.is_near("m1", at) for at in P] == [False, False]
