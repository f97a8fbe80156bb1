"""Range assignor: of each topic a range for each subscriber. Source: RangeAssignor of Kafka 4.4.0,
without racks.
"""

from trio_kafka.clients.consumer.groups.assignors.values import Assignments, Counts, Members
from trio_kafka.model import TopicPartition


def assign_range(counts: Counts, members: Members) -> Assignments:
    """Return the assignments; the first members get one partition more where it does not divide."""
    members = sorted(members, key=lambda member: member.order)
    assignments: Assignments = {member.member_id: [] for member in members}
    for topic, count in sorted(counts.items()):
        subscribers = [member for member in members if topic in member.topics]
        start = 0
        for place, member in enumerate(subscribers):
            size = count // len(subscribers) + (place < count % len(subscribers))
            assignments[member.member_id] += [
                TopicPartition(topic, number) for number in range(start, start + size)
            ]
            start += size
    return assignments
