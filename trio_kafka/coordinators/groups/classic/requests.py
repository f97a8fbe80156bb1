"""Requests of the classic protocol, for groups of every type.

A classic group serves them by `joining`, `syncing` and `session`. A group of another type has a
`ClassicAdapter`, or none.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar, cast

from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.values import (
    ClassicHeartbeat,
    Join,
    LeavingMember,
    Sync,
)
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.protocols import Group
from trio_kafka.coordinators.shards.effects import Effects, EventResult, Ticket
from trio_kafka.errors import ErrorCode, KafkaError

G_contra = TypeVar("G_contra", contravariant=True)


class ClassicAdapter(Protocol[G_contra]):
    """Serves members that speak the classic protocol in groups of another type.

    Consumer groups have one, so that members can be upgraded one by one. The answers are those of
    a classic group: see `joining`, `syncing`, `session`.
    """

    def join(self, group: G_contra, request: Join, ticket: Ticket, now_ms: int) -> EventResult: ...

    def sync(self, group: G_contra, request: Sync, ticket: Ticket, now_ms: int) -> Effects: ...

    def heartbeat(
        self, group: G_contra, request: ClassicHeartbeat, ticket: Ticket, now_ms: int
    ) -> Effects: ...

    def leave(
        self, group: G_contra, members: Sequence[LeavingMember], ticket: Ticket, now_ms: int
    ) -> EventResult: ...


def adapter_of(groups: Groups, group: Group) -> ClassicAdapter[Group] | None:
    """Return the adapter for groups of this group's type, if there is one."""
    for submachine in groups.submachines:
        if submachine.group_type == group.type:
            return cast("ClassicAdapter[Group] | None", submachine.classic_adapter)
    return None


def required_adapter(groups: Groups, group_id: str) -> tuple[ClassicAdapter[Group], Group]:
    """Return the adapter for a group, and the group.

    Raises KafkaError(UNKNOWN_MEMBER_ID): no group, or no adapter.
    """
    group = groups.by_id.get(group_id)
    adapter = None if group is None else adapter_of(groups, group)
    if adapter is None or group is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Group {group_id} not found.")
    return adapter, group


def describe(group_id: str, groups: Groups, ticket: Ticket, now_ms: int) -> Effects:
    """Describe a group; answer with GroupDescription. Raises KafkaError(GROUP_ID_NOT_FOUND) for
    another type.
    """
    del now_ms
    group = groups.group(group_id)
    if not isinstance(group, ClassicGroup):
        text = f"Group {group_id} is not a classic group."
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, text)
    return Effects().answer(ticket, group.description())
