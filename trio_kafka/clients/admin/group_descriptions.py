"""Calls that list and describe groups."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from trio_kafka.clients.admin.authorized import operations_of
from trio_kafka.clients.admin.calls.call import Call, Plan, Rejection, perform, result_of
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import group_target
from trio_kafka.clients.admin.group_values import (
    ClassicGroupDescription,
    ClassicMember,
    ConsumerGroupDescription,
    GroupListing,
    MemberDescription,
)
from trio_kafka.clients.admin.listings import Listings, list_everywhere
from trio_kafka.clients.consumer.groups.embedded import read_assignment
from trio_kafka.clients.errors import ClientError, Place, UnsupportedError
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.messages.k15_describe_groups import DescribedGroup as DescribedClassicGroup
from trio_kafka.protocol.messages.k15_describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from trio_kafka.protocol.messages.k16_list_groups import ListGroupsRequest, ListGroupsResponse
from trio_kafka.protocol.messages.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
)
from trio_kafka.protocol.structs.groups import DescribedAssignment

_CONSUMER: Final = "consumer"  # type of protocol
_IS_CLASSIC: Final = {0: True, 1: False}  # by `member_type`


def list_groups(
    *, states: Iterable[str] = (), types: Iterable[str] = ()
) -> Plan[Listings[GroupListing]]:
    """List the groups that all brokers coordinate, by group id.

    states, types: only such groups, as "Empty" and "Consumer"; brokers before Kafka 2.6 and 3.8
    know no such filter.
    """
    return list_everywhere(lambda: ListGroupsRequest(list(states), list(types)), _read_listings)


def describe_classic_groups(
    groups: Iterable[str], *, include_authorized_operations: bool = False
) -> Plan[Results[str, ClassicGroupDescription]]:
    """Describe groups of the classic protocol, with the bytes of their members."""
    return perform(
        Call(
            targets={group: group_target(group) for group in groups},
            request=lambda items, _timeout_ms: DescribeGroupsRequest(
                list(items), include_authorized_operations
            ),
            read=_read_classic,
            place=group_place,
        )
    )


def describe_consumer_groups(
    groups: Iterable[str], *, include_authorized_operations: bool = False
) -> Plan[Results[str, ConsumerGroupDescription]]:
    """Describe groups of consumers, of either protocol, with the partitions of their members."""
    names = list(groups)
    results: Results[str, ConsumerGroupDescription] = yield from perform(
        Call(
            targets={group: group_target(group) for group in names},
            request=lambda items, _timeout_ms: ConsumerGroupDescribeRequest(
                list(items), include_authorized_operations
            ),
            read=_read_consumer,
            place=group_place,
        )
    )
    others = [group for group, error in results.errors.items() if _may_be_classic(error)]
    if not others:
        return results
    classic = yield from describe_classic_groups(
        others, include_authorized_operations=include_authorized_operations
    )
    values = dict(results.values_by_item)
    errors = {name: error for name, error in results.errors.items() if name not in classic}
    errors.update(classic.errors)
    for name, group in classic.values_by_item.items():
        try:
            values[name] = _as_consumer_group(group)
        except DecodeError as error:
            errors[name] = ClientError(f"its members: {error}", place=group_place(name))
    return Results({name: values[name] for name in names if name in values}, errors)


def group_place(group: str) -> Place:
    """Return the place of a group in errors."""
    return Place(group=group)


def _may_be_classic(error: ClientError) -> bool:
    return isinstance(error, UnsupportedError) or error.code is ErrorCode.GROUP_ID_NOT_FOUND


def _read_listings(response: ListGroupsResponse) -> Mapping[str, GroupListing] | Rejection:
    listings = {
        row.group_id: GroupListing(
            group_id=row.group_id,
            protocol_type=row.protocol_type,
            state=row.group_state,
            type=row.group_type,
        )
        for row in response.groups
    }
    return result_of(response.error_code, None, listings)


def _read_classic(
    response: DescribeGroupsResponse, _items: Sequence[str]
) -> Iterator[tuple[str, ClassicGroupDescription | Rejection]]:
    for row in response.groups:
        yield row.group_id, result_of(row.error_code, row.error_message, _classic_group(row))


def _classic_group(row: DescribedClassicGroup) -> ClassicGroupDescription:
    members = (
        ClassicMember(
            member_id=member.member_id,
            client_id=member.client_id,
            host=member.client_host,
            group_instance_id=member.group_instance_id,
            metadata=bytes(member.member_metadata),
            assignment=bytes(member.member_assignment),
        )
        for member in row.members
    )
    return ClassicGroupDescription(
        group_id=row.group_id,
        protocol=row.protocol_type,
        protocol_data=row.protocol_data,
        state=row.group_state,
        members=tuple(members),
        authorized_operations=operations_of(row.authorized_operations),
    )


def _as_consumer_group(group: ClassicGroupDescription) -> ConsumerGroupDescription:
    """Return a classic group as one of consumers. Raises DecodeError."""
    if group.protocol not in ("", _CONSUMER):
        raise DecodeError(f"protocol type {group.protocol!r}: want {_CONSUMER}")
    members = (
        MemberDescription(
            member_id=member.member_id,
            client_id=member.client_id,
            host=member.host,
            group_instance_id=member.group_instance_id,
            assignment=read_assignment(member.assignment),
        )
        for member in group.members
    )
    return ConsumerGroupDescription(
        group_id=group.group_id,
        type="Classic",
        state=group.state,
        partition_assignor=group.protocol_data,
        members=tuple(members),
        authorized_operations=group.authorized_operations,
    )


def _read_consumer(
    response: ConsumerGroupDescribeResponse, _items: Sequence[str]
) -> Iterator[tuple[str, ConsumerGroupDescription | Rejection]]:
    for row in response.groups:
        yield row.group_id, result_of(row.error_code, row.error_message, _consumer_group(row))


def _consumer_group(row: DescribedGroup) -> ConsumerGroupDescription:
    return ConsumerGroupDescription(
        group_id=row.group_id,
        type="Consumer",
        state=row.group_state,
        partition_assignor=row.assignor_name,
        members=tuple(map(_member, row.members)),
        group_epoch=row.group_epoch,
        target_assignment_epoch=row.assignment_epoch,
        authorized_operations=operations_of(row.authorized_operations),
    )


def _member(row: Member) -> MemberDescription:
    return MemberDescription(
        member_id=row.member_id,
        client_id=row.client_id,
        host=row.client_host,
        group_instance_id=row.instance_id,
        assignment=_partitions(row.assignment),
        target_assignment=_partitions(row.target_assignment),
        member_epoch=row.member_epoch,
        rack_id=row.rack_id,
        is_classic=_IS_CLASSIC.get(row.member_type),
    )


def _partitions(assignment: DescribedAssignment) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(topic.topic_name, number)
        for topic in assignment.topic_partitions
        for number in topic.partitions
    )
