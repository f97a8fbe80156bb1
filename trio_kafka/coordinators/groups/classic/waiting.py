"""A member that is known joins: it says anew what it wants, and waits."""

from trio_kafka.coordinators.effects import Ticket
from trio_kafka.coordinators.groups.classic.act import Act
from trio_kafka.coordinators.groups.classic.member import Member
from trio_kafka.coordinators.groups.classic.values import Joining
from trio_kafka.errors import ErrorCode


def restate(act: Act, member: Member, joining: Joining) -> None:
    """What the member can speak, and its timeouts, are those of this join."""
    act.group.roster.speak(member, joining.protocols)
    member.rebalance_timeout_ms = joining.rebalance_timeout_ms
    member.session_timeout_ms = joining.session_timeout_ms


def park_join(act: Act, member: Member, joining: Joining, ticket: Ticket) -> None:
    """Its join waits. One that joins again has given up its request before."""
    restate(act, member, joining)
    act.refuse_join(member, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
    act.group.roster.park(member, ticket)
