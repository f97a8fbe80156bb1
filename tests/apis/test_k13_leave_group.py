"""LeaveGroup in all its versions."""

import pytest
from trio.testing import MockClock

from tests.apis.classic import GROUP, codes, stable_group
from tests.apis.kit import broker, stable
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.log import fields_of
from trio_kafka.protocol.messages.k13_leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

VERSIONS = stable(LeaveGroupRequest)
MANY_SINCE, INSTANCE_SINCE, REASON_SINCE = 3, 3, 5


def leaving(version: int, member: str, group: str = GROUP) -> LeaveGroupRequest:
    if version < MANY_SINCE:
        return LeaveGroupRequest(group, member)
    return LeaveGroupRequest(group, members=[MemberIdentity(member)])


def code_of(answer: LeaveGroupResponse, version: int) -> int:
    if version < MANY_SINCE:
        return answer.error_code
    assert answer.error_code == 0
    return answer.members[0].error_code


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_member_that_left_cannot_leave_again(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        group = await stable_group(served)
        request = leaving(version, group.members[0])

        assert code_of(await served.ask(request, version), version) == 0
        stored_group = served.broker.groups.coordinator.shard_of(GROUP).machine.by_id[GROUP]
        assert (stored_group.state, stored_group.members()) == ("Empty", [])
        again = await served.ask(request, version)

    assert code_of(again, version) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", VERSIONS)
async def test_leaving_an_unknown_group_is_an_unknown_member(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP)
        answer = await served.ask(leaving(version, "ghost"), version)

    assert code_of(answer, version) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_error_of_the_group_is_returned_once_without_members(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP)
        nameless = await served.ask(leaving(version, "ghost", ""), version)
        served.broker.groups.coordinator.shard_of(GROUP).state = ShardState.LOADING
        loading = await served.ask(leaving(version, "ghost"), version)

    assert nameless == LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    assert loading == LeaveGroupResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


@pytest.mark.parametrize("version", [v for v in VERSIONS if v >= MANY_SINCE])
async def test_many_members_leave_in_one_request(autojump_clock: MockClock, version: int) -> None:
    async with broker() as served:
        group = await stable_group(served, 3)
        static = await stable_group(served, group="static", instance="i")
        request = LeaveGroupRequest(
            GROUP, members=[MemberIdentity(name) for name in (*group.members[:2], "ghost")]
        )
        answer = await served.ask(request, version)
        by_instance = LeaveGroupRequest("static", members=[MemberIdentity("", "i")])
        removed = await served.ask(by_instance, version)
        nobody = await served.ask(LeaveGroupRequest(GROUP), version)

    assert codes(answer.members) == [0, 0, ErrorCode.UNKNOWN_MEMBER_ID]
    assert [member.member_id for member in answer.members] == [*group.members[:2], "ghost"]
    assert removed.members == [MemberResponse("", "i", 0)]
    assert len(static.members) == 1
    assert nobody == LeaveGroupResponse()


@pytest.mark.parametrize("version", [v for v in VERSIONS if v >= REASON_SINCE])
async def test_the_reason_of_a_leaving_member_is_logged(
    autojump_clock: MockClock, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with broker() as served:
        group = await stable_group(served)
        member_identity = MemberIdentity(group.members[0], reason="it has read enough")
        answer = await served.ask(LeaveGroupRequest(GROUP, members=[member_identity]), version)

    assert codes(answer.members) == [0]
    reasons = [fields_of(record).get("reason") for record in caplog.records]
    assert "it has read enough" in reasons


@pytest.mark.parametrize("version", [v for v in VERSIONS if v >= INSTANCE_SINCE])
async def test_leaving_with_another_member_id_of_the_instance_is_fenced(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await stable_group(served, instance="i")
        request = LeaveGroupRequest(GROUP, members=[MemberIdentity("before", "i")])
        answer = await served.ask(request, version)

    assert answer.members == [MemberResponse("before", "i", ErrorCode.FENCED_INSTANCE_ID)]
