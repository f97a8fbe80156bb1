"""What is assigned to the members of a classic group: given out, or taken back."""

from collections.abc import Mapping

from trio_kafka.coordinators.groups.classic.act import Act
from trio_kafka.coordinators.groups.classic.member import NO_ASSIGNMENT
from trio_kafka.coordinators.groups.classic.values import Synced
from trio_kafka.errors import ErrorCode, KafkaError


def synced(act: Act, assignment: bytes) -> Synced:
    """The answer to one who syncs."""
    group = act.group
    return Synced(group.protocol_type or None, group.protocol_name, assignment)


def give_out(act: Act, assignments: Mapping[str, bytes]) -> None:
    """Each member has its own from now on, and its session begins anew: it could not be heard while
    it waited.
    """
    for member in act.group.roster:
        member.assignment = assignments.get(member.member_id, NO_ASSIGNMENT)
        if act.answer_sync(member, synced(act, member.assignment)):
            act.watch(member)


def take_back(act: Act, error: ErrorCode) -> None:
    """No member has anything; who waits for it is told the error."""
    for member in act.group.roster:
        member.assignment = NO_ASSIGNMENT
        if act.answer_sync(member, KafkaError(error)):
            act.watch(member)
