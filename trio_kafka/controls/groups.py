"""Groups of a broker under test: state, members, assignments, committed offsets and lag."""

from collections.abc import Sequence

from trio_kafka.controls.ask import ask, ask_when_loaded, check, last_version
from trio_kafka.controls.running import HasParts
from trio_kafka.controls.topics import NOT_THERE, describe_topic, find_topic
from trio_kafka.controls.values import Group, Member
from trio_kafka.coordinators.groups.consumer.embedded_protocol import read_assignment
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
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
_CLASSIC = "classic"
_GROUPS = 8  # first version of OffsetFetch for several groups
_NAMES = 9  # last one that names topics


async def list_groups(broker: HasParts) -> list[Group]:
    """Return all groups, sorted by id. Raises KafkaError."""
    listed = sorted(await _listed(broker), key=lambda group: group.group_id)
    return [await _describe(broker, group.group_id, _type(group)) for group in listed]


async def describe_group(broker: HasParts, group_id: str) -> Group:
    """Return a group; one that does not exist is Dead and empty. Raises KafkaError."""
    types = {group.group_id: _type(group) for group in await _listed(broker)}
    if group_id not in types:
        return Group(group_id=group_id, state=DEAD)
    return await _describe(broker, group_id, types[group_id])


async def delete_group(broker: HasParts, group_id: str) -> None:
    """Delete a group without members, with its offsets. Raises KafkaError."""
    (done,) = (await ask(broker, DeleteGroupsRequest([group_id]))).results
    check(done.error_code, group_id)


async def _listed(broker: HasParts) -> Sequence[ListedGroup]:
    """List the groups once all coordinators are loaded. Raises KafkaError."""
    answer = await ask_when_loaded(broker, ListGroupsRequest())
    check(answer.error_code, "ListGroups")
    groups: Sequence[ListedGroup] = answer.groups
    return groups


def _type(group: ListedGroup) -> str:
    """Return the type of a group. ListGroups before version 5 is of releases with only one."""
    return group.group_type.lower() or _CLASSIC


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
    (group,) = (await ask(broker, ConsumerGroupDescribeRequest([group_id]))).groups
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:  # it has ended, or changed its type
        return DEAD, []
    check(group.error_code, group_id)
    return group.group_state, [_consumer_member(member) for member in group.members]


async def _describe_classic(broker: HasParts, group_id: str) -> tuple[str, list[Member]]:
    (group,) = (await ask(broker, DescribeGroupsRequest([group_id]))).groups
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return DEAD, []
    check(group.error_code, group_id)
    return group.group_state, [_classic_member(member) for member in group.members]


def _consumer_member(member: ConsumerMember) -> Member:
    assigned = member.assignment.topic_partitions
    return Member(
        member_id=member.member_id,
        client_id=member.client_id,
        instance_id=member.instance_id,
        partitions=tuple(
            sorted((topic.topic_name, n) for topic in assigned for n in topic.partitions)
        ),
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
            (topic.topic, number)
            for topic in read_assignment(data).assigned_partitions
            for number in topic.partitions
        ]
    except DecodeError:
        return ()
    return tuple(sorted(assigned))


async def _committed(broker: HasParts, group_id: str) -> dict[tuple[str, int], int]:
    group: OffsetFetchResponse | OffsetFetchResponseGroup
    if last_version(broker, OffsetFetchRequest) < _GROUPS:
        group = await ask(broker, OffsetFetchRequest(group_id=group_id, topics=None))
    else:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id, topics=None)])
        (group,) = (await ask(broker, request, at_most=_NAMES)).groups
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return {}
    check(group.error_code, group_id)
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in group.topics
        for partition in topic.partitions
        if partition.committed_offset >= 0
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
