"""A classic group through a broker: members as messages, in any version."""

from collections.abc import Sequence
from typing import Any

import pytest
import trio
from attrs import define, frozen

from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k11_join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from trio_kafka.protocol.messages.k14_sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from trio_kafka.testing.broker import ServedBroker
from trio_kafka.testing.scripted_client import ScriptedClient, newest

METADATA = b"\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff"  # reads the topic t
GROUP = "g"
DELAY_S = 3.0
ID_FIRST_SINCE, INSTANCE_SINCE = 4, 5  # of JoinGroup
SYNC_INSTANCE_SINCE, SYNC_PROTOCOL_SINCE = 3, 5


def join_request(
    version: int,
    member_id: str = "",
    *,
    instance: str | None = None,
    group: str = GROUP,
    **fields: Any,
) -> JoinGroupRequest:
    arguments: dict[str, Any] = {
        "group_id": group,
        "session_timeout_ms": 10_000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol("range", METADATA)],
        **fields,
    }
    if version >= 1:
        arguments.setdefault("rebalance_timeout_ms", 60_000)
    if version >= INSTANCE_SINCE:
        arguments["group_instance_id"] = instance
    return JoinGroupRequest(**arguments)


async def join(
    client: ServedBroker | ScriptedClient, version: int | None = None, **how: Any
) -> JoinGroupResponse:
    """The answer when the generation has begun: one that is told to come back does."""
    chosen = newest(JoinGroupRequest) if version is None else version
    answer: JoinGroupResponse = await client.ask(join_request(chosen, **how), chosen)
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        how["member_id"] = answer.member_id
        answer = await client.ask(join_request(chosen, **how), chosen)
    return answer


async def sync(
    client: ServedBroker | ScriptedClient,
    joined: JoinGroupResponse,
    assignments: dict[str, bytes] | None = None,
    *,
    version: int | None = None,
    group: str = GROUP,
    **fields: Any,
) -> SyncGroupResponse:
    chosen = newest(SyncGroupRequest) if version is None else version
    if chosen >= SYNC_PROTOCOL_SINCE:
        fields = {"protocol_type": "consumer", "protocol_name": "range", **fields}
    request = SyncGroupRequest(
        group,
        joined.generation_id,
        joined.member_id,
        assignments=[SyncGroupRequestAssignment(*item) for item in (assignments or {}).items()],
        **fields,
    )
    answer: SyncGroupResponse = await client.ask(request, chosen)
    return answer


@define
class Stable:
    """Members of a stable group, each with the connection that it came by; the first one leads."""

    generation: int
    members: list[str]


async def stable_group(served: ServedBroker, size: int = 1, **how: Any) -> Stable:
    """Join and sync; each member is assigned its own id. A group that was empty before."""
    await served.serve_groups(how.get("group", GROUP))
    answers: list[JoinGroupResponse] = []

    async def member() -> None:
        async with served.connect() as client:
            joined = await join(client, **how)
            own = {member.member_id: member.member_id.encode() for member in joined.members}
            synced = await sync(client, joined, own, group=how.get("group", GROUP))
            assert synced.assignment == joined.member_id.encode()
            answers.append(joined)

    async with trio.open_nursery() as nursery:
        for _ in range(size):
            nursery.start_soon(member)
    leader = answers[0].leader
    members = sorted((answer.member_id for answer in answers), key=lambda member: member != leader)
    return Stable(answers[0].generation_id, members)


@frozen(kw_only=True)
class Stranger:
    """A client that is no member of the group it asks, and the error it gets.

    member_id: None: that of a member.
    """

    group: str = GROUP
    generation: int = 1
    member_id: str | None = None
    code: ErrorCode

    async def come(self, served: ServedBroker) -> str:
        """To a broker that has a stable group, and serves another one; its member id."""
        result = await stable_group(served)
        await served.serve_groups("g2")
        return self.member_id or result.members[0]


STRANGERS = pytest.mark.parametrize(
    "stranger",
    [
        pytest.param(Stranger(group="", code=ErrorCode.INVALID_GROUP_ID), id="no group"),
        pytest.param(
            Stranger(group="", member_id="ghost", code=ErrorCode.INVALID_GROUP_ID),
            id="nobody of no group",
        ),
        pytest.param(
            Stranger(generation=7, code=ErrorCode.ILLEGAL_GENERATION), id="other generation"
        ),
        pytest.param(Stranger(member_id="ghost", code=ErrorCode.UNKNOWN_MEMBER_ID), id="no member"),
        pytest.param(
            Stranger(group="g2", member_id="ghost", code=ErrorCode.UNKNOWN_MEMBER_ID),
            id="no member of an empty group",
        ),
    ],
)


def codes(rows: Sequence[Any]) -> list[int]:
    return [row.error_code for row in rows]
