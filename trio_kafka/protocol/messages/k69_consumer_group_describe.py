"""ConsumerGroupDescribe (key 69): describe consumer groups (KIP-848)."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int8, int16, int32, string, struct_
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.groups import DescribedAssignment


@request(key=69, versions="0-1", flexible="0+")
class ConsumerGroupDescribeRequest:
    """Describe consumer groups (KIP-848): epochs, members and assignments."""

    response: ClassVar[type["ConsumerGroupDescribeResponse"]]

    group_ids: list[str] = array(string)
    include_authorized_operations: bool = boolean()


@struct
class Member:
    member_id: str = string()
    instance_id: str | None = string(nullable="0+", default=None)
    rack_id: str | None = string(nullable="0+", default=None)
    member_epoch: int = int32()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(nullable="0+", default=None)
    assignment: DescribedAssignment = struct_(DescribedAssignment)
    target_assignment: DescribedAssignment = struct_(DescribedAssignment)
    member_type: int = int8("1+", default=-1, ignorable=True)


@struct
class DescribedGroup:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    assignor_name: str = string()
    members: list[Member] = array(Member)
    authorized_operations: int = int32(default=-2147483648)


@response(ConsumerGroupDescribeRequest)
class ConsumerGroupDescribeResponse:
    """Epochs, members and assignments of each group."""

    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = array(DescribedGroup)
