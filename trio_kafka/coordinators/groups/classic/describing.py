"""A classic group as DescribeGroups asks for it; groups of other kinds are asked otherwise."""

from trio_kafka.coordinators.effects import Effects, Ticket
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.errors import ErrorCode, KafkaError


def describe(groups: Groups, group_id: str, ticket: Ticket, now_ms: int) -> Effects:
    """Answer: Described. Raises KafkaError(GROUP_ID_NOT_FOUND)."""
    del now_ms
    group = groups.group(group_id)
    if not isinstance(group, ClassicGroup):
        text = f"Group {group_id} is not a classic group."
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, text)
    return Effects().answer(ticket, group.described())
