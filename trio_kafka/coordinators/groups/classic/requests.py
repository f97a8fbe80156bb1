"""Events of the classic protocol, for groups of every type."""

from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

from trio_kafka.coordinators.effects import CoordinatorRecord, Effects, Ticket
from trio_kafka.coordinators.groups.classic import joining as joins
from trio_kafka.coordinators.groups.classic import session
from trio_kafka.coordinators.groups.classic import syncing as syncs
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.records import group_record
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
from trio_kafka.coordinators.groups.offsets import schedule_expiry
from trio_kafka.coordinators.groups.protocols import Group
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps, whole

_logger: Final = get_logger(__name__)


class ClassicAdapter(Protocol):
    """Serves members that speak the classic protocol in groups of another type.

    Consumer groups have one, so that members can be upgraded one by one. The answers are those of
    a classic group: see `joining`, `syncing`, `session`.
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
    return _open_group(groups, group_id, joining, ticket, now_ms)


def _open_group(
    groups: Groups, group_id: str, joining: Joining, ticket: Ticket, now_ms: int
) -> Effects:
    """Create the group and join it. `groups` has none of this id, or an empty one of another type,
    which is replaced.

    The group gets a record without members at once, so that it is found again when its offsets are
    deleted or expire.
    """
    before = groups.by_id.get(group_id)
    records: list[CoordinatorRecord] = [] if before is None else before.tombstones()
    group = ClassicGroup(group_id=group_id, since_ms=now_ms)
    groups.by_id[group_id] = group
    records.append(whole(group_record(group, {})))
    effects = joins.join(_act(groups, group, now_ms), joining, ticket)

    def refused(error: KafkaError, _now_ms: int) -> Effects:
        """Undo the creation, and answer the join with the error."""
        _logger.warning("group could not be made", group=group_id, reason=str(error))
        if before is None:
            del groups.by_id[group_id]
        else:
            groups.by_id[group_id] = before
        effects = Effects()
        for key in group.timers():
            effects.cancel_timer(key)
        return effects.answer(ticket, Joined(member_id=NO_MEMBER_ID, error=error.code))

    effects.records, effects.replays, effects.refused = records, False, refused
    schedule_expiry(effects, groups.settings)
    return effects


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
        session.leave(transition, members, ticket)
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
