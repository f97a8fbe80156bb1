"""DescribeGroups in all its versions."""

import pytest
from trio.testing import MockClock

from tests.apis.classic import GROUP, METADATA, stable_group
from tests.apis.kit import broker, stable
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from trio_kafka.protocol.messages.k15_describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
)

VERSIONS = stable(DescribeGroupsRequest)
OPERATIONS_SINCE, INSTANCE_SINCE, NOT_FOUND_SINCE = 3, 4, 6
NOT_ASKED = -(2**31)
READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS = (1 << n for n in (3, 6, 8, 10, 11))


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_stable_group_is_described_with_its_members(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        group = await stable_group(served, instance="i")
        (result,) = (await served.ask(DescribeGroupsRequest([GROUP]), version)).groups

    member = group.members[0]
    assert result == DescribedGroup(
        group_id=GROUP,
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=[
            DescribedGroupMember(
                member_id=member,
                group_instance_id="i" if version >= INSTANCE_SINCE else None,
                client_id="scripted",
                client_host="/127.0.0.1",
                member_metadata=METADATA,
                member_assignment=member.encode(),
            )
        ],
    )


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_unknown_group_is_described_as_dead(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.serve_groups("none")
        (result,) = (await served.ask(DescribeGroupsRequest(["none"]), version)).groups

    expected = DescribedGroup(group_id="none", group_state="Dead")
    if version >= NOT_FOUND_SINCE:
        expected.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        expected.error_message = "Group none not found."
    assert result == expected


@pytest.mark.parametrize("version", [v for v in VERSIONS if v >= OPERATIONS_SINCE])
async def test_authorized_operations_are_returned_on_request(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await stable_group(served)
        await served.serve_groups("none")
        request = DescribeGroupsRequest([GROUP, "none"], include_authorized_operations=True)
        there, missing = (await served.ask(request, version)).groups

    everything = READ | DELETE | DESCRIBE | DESCRIBE_CONFIGS | ALTER_CONFIGS
    assert there.authorized_operations == everything
    is_error = version >= NOT_FOUND_SINCE
    assert missing.authorized_operations == (NOT_ASKED if is_error else everything)


async def test_an_empty_group_is_described_with_its_protocol_type(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        group = await stable_group(served)
        request = LeaveGroupRequest(GROUP, members=[MemberIdentity(group.members[0])])
        await served.ask(request)
        (result,) = (await served.ask(DescribeGroupsRequest([GROUP]))).groups

    assert result == DescribedGroup(
        group_id=GROUP, group_state="Empty", protocol_type="consumer", protocol_data=""
    )


async def test_groups_are_described_once_each_in_request_order_with_their_own_errors(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await stable_group(served)
        loading = next(
            name
            for name in map(str, range(100))
            if served.broker.groups.topic.partition_of(name)
            != served.broker.groups.topic.partition_of(GROUP)
        )
        served.broker.groups.coordinator.shard_of(loading).state = ShardState.LOADING
        request = DescribeGroupsRequest([loading, GROUP, loading])
        groups = (await served.ask(request)).groups

    # A name that is given twice is answered once.
    assert [group.group_id for group in groups] == [loading, GROUP]
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert groups[0] == DescribedGroup(error_code=code, group_id=loading)
    assert groups[1].group_state == "Stable"


async def test_a_request_without_groups_gets_an_empty_answer(autojump_clock: MockClock) -> None:
    async with broker() as served:
        assert (await served.ask(DescribeGroupsRequest())).groups == []
