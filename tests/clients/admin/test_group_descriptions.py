"""Descriptions of groups of both protocols."""

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.group_descriptions import (
    describe_classic_groups,
    describe_consumer_groups,
    list_groups,
)
from trio_kafka.clients.consumer.groups.embedded import write_assignment
from trio_kafka.clients.errors import UnsupportedError
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages import k69_consumer_group_describe as k69
from trio_kafka.protocol.messages.k15_describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from trio_kafka.protocol.messages.k16_list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from trio_kafka.protocol.structs.groups import DescribedAssignment, DescribedTopicPartitions

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def assignment(*numbers):
    return DescribedAssignment([DescribedTopicPartitions(bytes(16), "t", list(numbers))])


def new_group(name):
    member = k69.Member(
        "m",
        "i",
        "r",
        7,
        "c",
        "/h",
        assignment=assignment(0),
        target_assignment=assignment(0, 1),
        member_type=1,
    )
    return k69.DescribedGroup(0, None, name, "Stable", 9, 8, "uniform", [member])


def old_group(name, protocol="consumer", content=None):
    content = write_assignment([T1]) if content is None else content
    member = DescribedGroupMember("m", None, "c", "/h", b"meta", content)
    return DescribedGroup(0, None, name, "Stable", protocol, "range", [member])


def cluster_of(old=(), new=None):
    """A cluster with these classic groups; new: its consumer groups, or None: it is too old."""

    def described(request):
        if new is None:
            return UnsupportedError("too old")
        rows = [
            new.get(name) or k69.DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, "no group", name)
            for name in request.group_ids
        ]
        return k69.ConsumerGroupDescribeResponse(groups=rows)

    def described_classic(request):
        rows = {row.group_id: row for row in old}
        return DescribeGroupsResponse(
            groups=[
                rows.get(name) or DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, "none", name)
                for name in request.groups
            ]
        )

    return Cluster(
        {k69.ConsumerGroupDescribeRequest: described, DescribeGroupsRequest: described_classic}
    )


def test_group_of_the_newer_protocol_has_epochs_and_targets():
    group = cluster_of(new={"g": new_group("g")}).run(describe_consumer_groups(["g"]))["g"]

    assert (group.type, group.state, group.partition_assignor) == ("Consumer", "Stable", "uniform")
    assert (group.group_epoch, group.target_assignment_epoch) == (9, 8)
    (member,) = group.members
    assert (member.member_id, member.group_instance_id, member.rack_id) == ("m", "i", "r")
    assert (member.member_epoch, member.client_id, member.host) == (7, "c", "/h")
    assert (member.assignment, member.target_assignment) == ({T0}, {T0, T1})
    assert member.is_classic is False


def test_groups_of_both_protocols_are_described_in_one_call():
    cluster = cluster_of([old_group("old")], {"g": new_group("g")})

    results = cluster.run(describe_consumer_groups(["old", "g", "missing"]))

    assert [(name, group.type) for name, group in results.values_by_item.items()] == [
        ("old", "Classic"),
        ("g", "Consumer"),
    ]
    (member,) = results["old"].members
    assert (member.assignment, member.target_assignment) == ({T1}, None)
    assert (results["old"].partition_assignor, results["old"].group_epoch) == ("range", None)
    assert results.errors["missing"].code is ErrorCode.GROUP_ID_NOT_FOUND
    assert results.errors["missing"].group == "missing"


def test_broker_without_the_newer_protocol_describes_classic_groups():
    assert cluster_of([old_group("g")]).run(describe_consumer_groups(["g"]))["g"].members


def test_group_that_is_not_one_of_consumers_or_has_damaged_members_is_an_error():
    groups = [old_group("connect", "connect"), old_group("damaged", content=b"\0\1\0")]

    results = cluster_of(groups, {}).run(describe_consumer_groups(["connect", "damaged"]))

    assert "protocol type 'connect': want consumer" in str(results.errors["connect"])
    assert "group damaged" in str(results.errors["damaged"])


def test_classic_description_keeps_the_bytes_of_members():
    cluster = cluster_of([old_group("g", "connect", b"x")])

    group = cluster.run(describe_classic_groups(["g"], include_authorized_operations=True))["g"]

    assert (group.protocol, group.protocol_data) == ("connect", "range")
    assert (group.members[0].metadata, group.members[0].assignment) == (b"meta", b"x")
    assert not group.is_simple_consumer_group
    assert cluster.requests[0][1].include_authorized_operations


def test_filters_of_a_list_go_to_each_broker():
    cluster = Cluster(
        {
            DescribeClusterRequest: lambda _request: UnsupportedError("too old"),
            ListGroupsRequest: lambda _request: ListGroupsResponse(
                groups=[ListedGroup("g", "consumer", "Stable", "Consumer")]
            ),
        }
    )

    listings = cluster.run(list_groups(states=["Stable"], types=["Consumer"])).all()

    assert (listings["g"].state, listings["g"].type) == ("Stable", "Consumer")
    _, *requests = cluster.requests
    assert [node for node, _ in requests] == [1, 2]
    assert {tuple(request.states_filter + request.types_filter) for _, request in requests} == {
        ("Stable", "Consumer")
    }
