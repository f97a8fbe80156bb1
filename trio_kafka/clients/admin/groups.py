"""Calls that change groups: delete them, remove members."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.clients.admin.calls.call import Call, Plan, Rejection, perform, result_of
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import group_target
from trio_kafka.clients.admin.group_descriptions import describe_consumer_groups, group_place
from trio_kafka.protocol.messages.k13_leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from trio_kafka.protocol.messages.k42_delete_groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

_REASON: Final = "removed by the admin client"


@frozen
class MemberToRemove:
    """A member: a static one by `group_instance_id`, another one by `member_id`."""

    group_instance_id: str | None = None
    member_id: str = ""


def delete_groups(groups: Iterable[str]) -> Plan[Results[str, None]]:
    """Delete groups without members, with their offsets."""
    return perform(
        Call(
            targets={group: group_target(group) for group in groups},
            request=lambda items, _timeout_ms: DeleteGroupsRequest(list(items)),
            read=_read_deleted,
            place=group_place,
        )
    )


def remove_members_from_consumer_group(
    group: str, members: Iterable[MemberToRemove] | None = None, *, reason: str = _REASON
) -> Plan[Results[MemberToRemove, None]]:
    """Remove members of a classic group. members: None: all. reason: for the broker's log.

    Raises ClientError if all members are to be removed and the group cannot be described.
    """
    if members is None:
        description = (yield from describe_consumer_groups([group]))[group]
        members = [
            MemberToRemove(member.group_instance_id)
            if member.group_instance_id is not None
            else MemberToRemove(None, member.member_id)
            for member in description.members
        ]

    def request(items: Sequence[MemberToRemove], _timeout_ms: int) -> LeaveGroupRequest:
        rows = [MemberIdentity(item.member_id, item.group_instance_id, reason) for item in items]
        return LeaveGroupRequest(group_id=group, members=rows)

    call: Call[MemberToRemove, LeaveGroupResponse, None] = Call(
        targets=dict.fromkeys(members, group_target(group)),
        request=request,
        read=_read_removed,
        place=lambda _member: group_place(group),
    )
    return (yield from perform(call))


def _read_deleted(
    response: DeleteGroupsResponse, _items: Sequence[str]
) -> Iterator[tuple[str, Rejection | None]]:
    for row in response.results:
        yield row.group_id, result_of(row.error_code, row.error_message, None)


def _read_removed(
    response: LeaveGroupResponse, items: Sequence[MemberToRemove]
) -> Iterator[tuple[MemberToRemove, Rejection | None]]:
    if response.error_code:
        for item in items:
            yield item, Rejection(response.error_code)
        return
    for row in response.members:
        is_static = row.group_instance_id is not None
        item = MemberToRemove(row.group_instance_id, "" if is_static else row.member_id)
        yield item, result_of(row.error_code, None, None)
