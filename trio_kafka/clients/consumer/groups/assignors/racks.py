"""Racks of members and of replicas: whether they matter, and which fit (KIP-881).

A partition fits a member that has a replica of it in its own rack, so that it fetches from near
(KIP-392). Racks are looked at only if that can make a difference: not if no member is in a rack of
a replica, nor if each partition has a replica in every rack. Balance comes before racks.
Source: AbstractPartitionAssignor of Apache Kafka 4.4.0.
"""

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

from trio_kafka.attributes import frozen
from trio_kafka.clients.consumer.groups.assignors.values import MemberSubscription
from trio_kafka.model import TopicPartition

Racks: TypeAlias = Mapping[TopicPartition, frozenset[str]]
"""Racks of the replicas by partition."""
NO_RACKS: Final[Racks] = {}
_NONE: Final[frozenset[str]] = frozenset()


@frozen
class RackMatch:
    """Racks that matter. members: rack by member id, without those that have none."""

    members: Mapping[str, str]
    partitions: Racks

    @property
    def is_used(self) -> bool:
        """True if racks make a difference."""
        return bool(self.members)

    def fits(self, member: str, at: TopicPartition) -> bool:
        """Return whether a member may have a partition: a member without a rack fits them all."""
        rack = self.members.get(member)
        return rack is None or rack in self.partitions.get(at, _NONE)

    def is_near(self, member: str, at: TopicPartition) -> bool:
        """Return whether a member has a rack, and a replica is there."""
        return self.members.get(member) in self.partitions.get(at, _NONE)


ANYWHERE: Final = RackMatch({}, NO_RACKS)


def rack_match(
    members: Collection[MemberSubscription], partitions: Collection[TopicPartition], racks: Racks
) -> RackMatch:
    """Return the racks of members and of partitions, if they make a difference."""
    of_members = {member.member_id: member.rack for member in members if member.rack}
    of_partitions = {at: racks.get(at, _NONE) for at in partitions}
    every_rack = _NONE.union(*of_partitions.values())
    if every_rack.isdisjoint(of_members.values()):
        return ANYWHERE
    if all(own == every_rack for own in of_partitions.values()):
        return ANYWHERE
    return RackMatch(of_members, of_partitions)
