"""Events of the classic protocol, for groups of every type."""

from collections.abc import Sequence
from typing import Any, Protocol, cast

from trio_kafka.coordinators.effects import Effects, Ticket
from trio_kafka.coordinators.groups.classic import joining as joins
from trio_kafka.coordinators.groups.classic import leaving as leaves
from trio_kafka.coordinators.groups.classic import session
from trio_kafka.coordinators.groups.classic import syncing as syncs
from trio_kafka.coordinators.groups.classic.creation import open_group
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import (
    NO_MEMBER_ID,
    Beating,
    Joined,
    Joining,
    Leaving,
    Syncing,
)
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.protocols import Group
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.scheduling.chunked_work import Steps


class ClassicAdapter(Protocol):
    """Serves members that speak the classic protocol in groups of another type.

    Consumer groups have one, so that members can be upgraded one by one. The answers are those of
    a classic group: see `joining`, `syncing`, `session`, `leaving`.
    """

    def join(
        self, group: Any, joining: Joining, ticket: Ticket, now_ms: int
    ) -> Effects | Steps[Effects]: ...

    def sync(self, group: Any, syncing: Syncing, ticket: Ticket, now_ms: int) -> Effects: ...

    def heartbeat(self, group: Any, beating: Beating, ticket: Ticket, now_ms: int) -> Effects: ...

    def leave(
        self, group: Any, members: Sequence[Leaving], ticket: Ticket, now_ms: int
    ) -> Effects | Steps[Effects]: ...


def join(
    group_id: str, joining: Joining, groups: Groups, ticket: Ticket, now_ms: int
) -> Effects | Steps[Effects]:
    """Join a group; answer with Joined when the next generation begins. Create the group for a new
    client.
    """
    group = groups.by_id.get(group_id)
    if isinstance(group, ClassicGroup):
        transition = _act(groups, group, now_ms)
        joins.join(transition, joining, ticket)
        return transition.done
    if group is not None and not group.is_empty:
        adapter = _adapter(groups, group)
        if adapter is None:
            error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            return Effects().answer(ticket, Joined(member_id=NO_MEMBER_ID, error=error))
        return adapter.join(group, joining, ticket, now_ms)
    if joining.member_id != NO_MEMBER_ID:
        error = ErrorCode.UNKNOWN_MEMBER_ID
        return Effects().answer(ticket, Joined(member_id=joining.member_id, error=error))
    return open_group(groups, group_id, joining, ticket, now_ms)


def sync(
    group_id: str, syncing: Syncing, groups: Groups, ticket: Ticket, now_ms: int
) -> Effects | Steps[Effects]:
    """Sync with a group; answer with Synced when the leader has sent the assignments."""
    group = groups.by_id.get(group_id)
    if isinstance(group, ClassicGroup):
        transition = _act(groups, group, now_ms)
        syncs.sync(transition, syncing, ticket)
        return transition.done
    if group is None or group.is_empty:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    return _required_adapter(groups, group_id).sync(group, syncing, ticket, now_ms)


def heartbeat(
    group_id: str, beating: Beating, groups: Groups, ticket: Ticket, now_ms: int
) -> Effects | Steps[Effects]:
    """Renew a member's session; answer with None or REBALANCE_IN_PROGRESS."""
    group = groups.by_id.get(group_id)
    if isinstance(group, ClassicGroup):
        return session.heartbeat(group, beating, ticket)
    return _required_adapter(groups, group_id).heartbeat(group, beating, ticket, now_ms)


def leave(
    group_id: str, members: Sequence[Leaving], groups: Groups, ticket: Ticket, now_ms: int
) -> Effects | Steps[Effects]:
    """Remove members; answer with an ErrorCode for each, in the order of the request."""
    group = groups.by_id.get(group_id)
    if isinstance(group, ClassicGroup):
        transition = _act(groups, group, now_ms)
        leaves.leave(transition, members, ticket)
        return transition.done
    return _required_adapter(groups, group_id).leave(group, members, ticket, now_ms)


def describe(group_id: str, groups: Groups, ticket: Ticket, now_ms: int) -> Effects:
    """Describe a group; answer with Described. Raises KafkaError(GROUP_ID_NOT_FOUND) for another
    type.
    """
    del now_ms
    group = groups.group(group_id)
    if not isinstance(group, ClassicGroup):
        text = f"Group {group_id} is not a classic group."
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, text)
    return Effects().answer(ticket, group.described())


def _act(groups: Groups, group: ClassicGroup, now_ms: int) -> Transition:
    return Transition(group, groups.own_settings.get(group.group_id, groups.settings), now_ms)


def _adapter(groups: Groups, group: Group) -> ClassicAdapter | None:
    for one in groups.submachines:
        if one.group_type == group.type:
            return cast("ClassicAdapter | None", one.classic_adapter)
    return None


def _required_adapter(groups: Groups, group_id: str) -> ClassicAdapter:
    group = groups.by_id.get(group_id)
    adapter = None if group is None else _adapter(groups, group)
    if adapter is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Group {group_id} not found.")
    return adapter
