"""Requests that change groups."""

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.groups import (
    MemberToRemove,
    delete_groups,
    remove_members_from_consumer_group,
)
from trio_kafka.clients.errors import UnsupportedError
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k13_leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from trio_kafka.protocol.messages.k15_describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from trio_kafka.protocol.messages.k42_delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from trio_kafka.protocol.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest


def test_groups_of_one_coordinator_are_deleted_together():
    def answer(request):
        codes = {"bad": ErrorCode.NON_EMPTY_GROUP}
        rows = [DeletableGroupResult(name, codes.get(name, 0)) for name in request.groups_names]
        return DeleteGroupsResponse(results=rows)

    cluster = Cluster({DeleteGroupsRequest: answer})

    results = cluster.run(delete_groups(["a", "bb", "bad"]))

    assert [(node, request.groups_names) for node, request in cluster.requests] == [
        (2, ["a", "bad"]),
        (1, ["bb"]),
    ]
    assert results.values_by_item == {"a": None, "bb": None}
    assert results.errors["bad"].group == "bad"


def answer_leave(request):
    rows = [
        MemberResponse(row.member_id, row.group_instance_id, 25 if row.member_id == "x" else 0)
        for row in request.members
    ]
    return LeaveGroupResponse(members=rows)


def test_static_members_are_removed_by_instance_id_and_others_by_member_id():
    cluster = Cluster({LeaveGroupRequest: answer_leave})
    static, dynamic = MemberToRemove("i"), MemberToRemove(member_id="x")

    results = cluster.run(remove_members_from_consumer_group("g", [static, dynamic], reason="why"))

    ((node, request),) = cluster.requests
    assert (node, request.group_id) == (2, "g")
    assert [(row.member_id, row.group_instance_id) for row in request.members] == [
        ("", "i"),
        ("x", None),
    ]
    assert {row.reason for row in request.members} == {"why"}
    assert results[static] is None
    assert results.errors[dynamic].code is ErrorCode.UNKNOWN_MEMBER_ID


def test_all_members_are_those_of_the_description():
    members = [
        DescribedGroupMember("a", "i", "c", "/h"),
        DescribedGroupMember("b", None, "c", "/h"),
    ]
    group = DescribedGroup(0, None, "g", "Stable", "consumer", "range", members)
    cluster = Cluster(
        {
            ConsumerGroupDescribeRequest: lambda _request: UnsupportedError("too old"),
            DescribeGroupsRequest: lambda _request: DescribeGroupsResponse(groups=[group]),
            LeaveGroupRequest: answer_leave,
        }
    )

    results = cluster.run(remove_members_from_consumer_group("g"))

    assert set(results.all()) == {MemberToRemove("i"), MemberToRemove(member_id="b")}


def test_error_of_the_whole_request_is_one_of_each_member():
    response = LeaveGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    cluster = Cluster({LeaveGroupRequest: lambda _request: response})

    results = cluster.run(remove_members_from_consumer_group("g", [MemberToRemove("i")]))

    assert len(results.errors) == 1
