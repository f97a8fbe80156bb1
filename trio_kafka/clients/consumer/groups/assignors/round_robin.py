"""Round-robin assignor: all partitions in order, to the subscribers in turn. Source:
RoundRobinAssignor of Kafka 4.4.0.
"""

from trio_kafka.clients.consumer.groups.assignors.values import Assignments, Counts, Members
from trio_kafka.model import TopicPartition


def assign_round_robin(counts: Counts, members: Members) -> Assignments:
    """Return the assignments."""
    members = sorted(members, key=lambda member: member.order)
    assignments: Assignments = {member.member_id: [] for member in members}
    turn = 0
    for topic, count in sorted(counts.items()):
        if not any(topic in member.topics for member in members):
            continue
        for number in range(count):
            while topic not in members[turn].topics:
                turn = (turn + 1) % len(members)
            assignments[members[turn].member_id].append(TopicPartition(topic, number))
            turn = (turn + 1) % len(members)
    return assignments
