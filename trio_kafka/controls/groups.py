"""Groups of a broker under test: state, members, assignments, committed offsets and lag."""

from collections.abc import Sequence

import trio

from trio_kafka.controls.ask import ask, check
from trio_kafka.controls.running import HasParts
from trio_kafka.controls.topics import NOT_THERE, describe_topic, find_topic
from trio_kafka.controls.values import Group, Member
from trio_kafka.coordinators.groups.consumer.embedded_protocol import read_assignment
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from trio_kafka.protocol.messages.k15_describe_groups import (
    DescribedGroupMember,
    DescribeGroupsRequest,
)
from trio_kafka.protocol.messages.k16_list_groups import ListedGroup, ListGroupsRequest
from trio_kafka.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from trio_kafka.protocol.messages.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
)
from trio_kafka.protocol.messages.k69_consumer_group_describe import Member as ConsumerMember

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

DEAD = "Dead"
_CONSUMER = "consumer"
_LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
_LOADING_S = 30.0
_PAUSE_S = 0.01


async def list_groups(broker: HasParts) -> list[Group]:
    """Return all groups, sorted by id. Raises KafkaError."""
    listed = sorted(await _listed(broker), key=lambda one: one.group_id)
    return [await _describe(broker, one.group_id, one.group_type.lower()) for one in listed]


async def describe_group(broker: HasParts, group_id: str) -> Group:
    """Return a group; one that does not exist is Dead and empty. Raises KafkaError."""
    types = {one.group_id: one.group_type.lower() for one in await _listed(broker)}
    if group_id not in types:
        return Group(group_id=group_id, state=DEAD)
    return await _describe(broker, group_id, types[group_id])


async def delete_group(broker: HasParts, group_id: str) -> None:
    """Delete a group without members, with its offsets. Raises KafkaError."""
    (done,) = (await ask(broker, DeleteGroupsRequest([group_id]))).results
    check(done.error_code, group_id)


async def _listed(broker: HasParts) -> Sequence[ListedGroup]:
    """List the groups once all coordinators are loaded. Raises KafkaError."""
    ends = trio.current_time() + _LOADING_S
    answer = await ask(broker, ListGroupsRequest())
    while answer.error_code == _LOADING and trio.current_time() < ends:
        await trio.sleep(_PAUSE_S)
        answer = await ask(broker, ListGroupsRequest())
    check(answer.error_code, "ListGroups")
    groups: Sequence[ListedGroup] = answer.groups
    return groups


async def _describe(broker: HasParts, group_id: str, group_type: str) -> Group:
    state, members = await (
        _describe_consumer(broker, group_id)
        if group_type == _CONSUMER
        else _describe_classic(broker, group_id)
    )
    offsets = await _committed(broker, group_id)
    return Group(
        group_id=group_id,
        state=state,
        type=group_type,
        members=tuple(sorted(members)),
        offsets=offsets,
        lag=await _lag(broker, offsets),
    )


async def _describe_consumer(broker: HasParts, group_id: str) -> tuple[str, list[Member]]:
    (found,) = (await ask(broker, ConsumerGroupDescribeRequest([group_id]))).groups
    if found.error_code == ErrorCode.GROUP_ID_NOT_FOUND:  # it has ended, or changed its type
        return DEAD, []
    check(found.error_code, group_id)
    return found.group_state, [_consumer_member(one) for one in found.members]


async def _describe_classic(broker: HasParts, group_id: str) -> tuple[str, list[Member]]:
    (found,) = (await ask(broker, DescribeGroupsRequest([group_id]))).groups
    if found.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return DEAD, []
    check(found.error_code, group_id)
    return found.group_state, [_classic_member(one) for one in found.members]


def _consumer_member(member: ConsumerMember) -> Member:
    assigned = member.assignment.topic_partitions
    return Member(
        member_id=member.member_id,
        client_id=member.client_id,
        instance_id=member.instance_id,
        partitions=tuple(sorted((one.topic_name, n) for one in assigned for n in one.partitions)),
    )


def _classic_member(member: DescribedGroupMember) -> Member:
    return Member(
        member_id=member.member_id,
        client_id=member.client_id,
        instance_id=member.group_instance_id,
        partitions=_classic_assignment(member.member_assignment),
    )


def _classic_assignment(data: bytes) -> tuple[tuple[str, int], ...]:
    """Return the partitions of an assignment; none for those of other protocols (Connect's)."""
    if not data:
        return ()
    try:
        assigned: Sequence[tuple[str, int]] = [
            (one.topic, number)
            for one in read_assignment(data).assigned_partitions
            for number in one.partitions
        ]
    except DecodeError:
        return ()
    return tuple(sorted(assigned))


async def _committed(broker: HasParts, group_id: str) -> dict[tuple[str, int], int]:
    asked = OffsetFetchRequestGroup(group_id=group_id, topics=None)
    # Version 9 has the names of topics.
    (found,) = (await ask(broker, OffsetFetchRequest(groups=[asked]), version=9)).groups
    if found.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return {}
    check(found.error_code, group_id)
    return {
        (topic.name, one.partition_index): one.committed_offset
        for topic in found.topics
        for one in topic.partitions
        if one.committed_offset >= 0
    }


async def _lag(broker: HasParts, offsets: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    ends: dict[tuple[str, int], int] = {}
    for name in sorted({topic for topic, _ in offsets}):
        image = find_topic(broker, name)
        if image is None:
            continue
        try:
            described = await describe_topic(broker, image)
        except KafkaError as error:  # deleted meanwhile
            if error.code not in NOT_THERE:
                raise
            continue
        ends |= {(name, number): end for number, (_, end) in described.offsets.items()}
    # Not below 0, where a log was cut: it would make up for the lag of another partition.
    return {at: max(0, ends[at] - offset) for at, offset in offsets.items() if at in ends}
