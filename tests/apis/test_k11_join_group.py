"""JoinGroup in all its versions."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.classic import (
    GROUP,
    ID_FIRST_SINCE,
    INSTANCE_SINCE,
    METADATA,
    join,
    join_request,
    stable_group,
)
from tests.apis.kit import broker, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k11_join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)

VERSIONS = stable(JoinGroupRequest)
NAMES_SINCE, NULL_SINCE, REASON_SINCE, SKIPS_SINCE = 7, 7, 8, 9


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_first_member_becomes_leader_of_generation_1(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP)
        answer = await join(served, version)

    assert answer == JoinGroupResponse(
        generation_id=1,
        protocol_type="consumer" if version >= NAMES_SINCE else None,
        protocol_name="range",
        leader=answer.member_id,
        member_id=answer.member_id,
        members=[JoinGroupResponseMember(answer.member_id, None, METADATA)],
    )
    assert answer.member_id


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_new_member_must_join_again_with_its_assigned_id_since_version_4(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP)
        answer = await served.ask(join_request(version), version)

    if version < ID_FIRST_SINCE:
        assert answer.error_code == 0
        return
    assert answer == JoinGroupResponse(
        error_code=ErrorCode.MEMBER_ID_REQUIRED,
        member_id=answer.member_id,
        protocol_name=None if version >= NULL_SINCE else "",
    )
    prefix, _, fresh = answer.member_id.partition("-")
    assert prefix == served.client.client_id
    assert len(fresh) == len("00000000-0000-4000-8000-000000000000")


INVALID = [
    ({"group": ""}, ErrorCode.INVALID_GROUP_ID, True),
    ({"session_timeout_ms": 5999}, ErrorCode.INVALID_SESSION_TIMEOUT, True),
    ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT, True),
    ({}, ErrorCode.UNKNOWN_MEMBER_ID, True),
    ({"member_id": "", "protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, False),
    ({"member_id": "", "protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, False),
]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_join_with_invalid_fields_is_refused(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP)
        for fields, code, keeps_id in INVALID:
            request = join_request(version, **{"member_id": "me", **fields})
            answer = await served.ask(request, version)

            assert answer == JoinGroupResponse(
                error_code=code,
                member_id="me" if keeps_id else "",
                protocol_name=None if version >= NULL_SINCE else "",
            ), fields


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_join_without_a_coordinator_is_refused_with_not_coordinator(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        answer = await served.ask(join_request(version), version)

    assert answer == JoinGroupResponse(
        error_code=ErrorCode.NOT_COORDINATOR,
        protocol_name=None if version >= NULL_SINCE else "",
    )


async def test_the_rebalance_timeout_is_the_session_timeout_before_version_1(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP)
        joined = await join(served, 0)

        member = served.broker.groups.coordinator.shard_of(GROUP).machine.by_id[GROUP].members()[0]

    assert (member.member_id, member.rebalance_timeout_ms) == (joined.member_id, 10_000)
    assert member.client_host == "/127.0.0.1"


@pytest.mark.parametrize("version", [v for v in VERSIONS if v >= REASON_SINCE])
async def test_reason_and_timeouts_of_a_joining_member_are_stored(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP)
        await join(served, version, reason="it was told to", rebalance_timeout_ms=7000)
        group = served.broker.groups.coordinator.shard_of(GROUP).machine.by_id[GROUP]

    assert "(it was told to)" in group.describe()["rebalance 1"]
    (member,) = group.members()
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (10_000, 7000)


@pytest.mark.parametrize("version", [v for v in VERSIONS if v >= INSTANCE_SINCE])
async def test_a_returning_static_member_joins_the_same_generation(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        group = await stable_group(served, version=version, instance="i")
        answer = await join(served, version, instance="i")

    assert (answer.error_code, answer.generation_id) == (0, group.generation)
    assert answer.member_id.startswith("i-")
    skips = version >= SKIPS_SINCE
    assert answer.leader == (answer.member_id if skips else group.members[0])
    assert (answer.skip_assignment, len(answer.members)) == (skips, int(skips))


async def test_a_waiting_join_does_not_block_other_requests(autojump_clock: MockClock) -> None:
    async with broker({"num.io.threads": "1"}) as served:
        await stable_group(served, 2)
        waiting: list[JoinGroupResponse] = []

        async def newcomer() -> None:
            async with served.connect() as client:
                waiting.append(await join(client))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(newcomer)
            await trio.sleep(1)
            parked = (
                served.broker.groups.coordinator.shard_of(GROUP).machine.by_id[GROUP].describe()
            )
            assert (await served.ask(join_request(9, group="other"), 9)).error_code

    assert (parked["joined"], parked["state"]) == (1, "PreparingRebalance")
    assert waiting[0].error_code == 0


async def test_a_waiting_join_is_answered_not_coordinator_at_shutdown(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP)
        answers = []

        async def member() -> None:
            async with served.connect() as client:
                answers.append(await client.ask(join_request(3), 3))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(member)
            await trio.sleep(0.1)
            served.broker.groups.stop()

    assert answers[0].error_code == ErrorCode.NOT_COORDINATOR
