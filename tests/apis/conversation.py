"""Requests of clients to classic groups, right and wrong, in every version; and the answers.

    python -m tests.apis.conversation     record what Apache Kafka says, into `data/`

The test beside it holds this broker to the record. Ids, hosts and the order of rows are left out.
"""

import re
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final

import trio
from attrs import define, field

from tests.apis.classic import METADATA, join_request
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k11_join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from trio_kafka.protocol.messages.k14_sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from trio_kafka.protocol.messages.k15_describe_groups import DescribeGroupsRequest
from trio_kafka.protocol.messages.k16_list_groups import ListGroupsRequest
from trio_kafka.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from trio_kafka.testing.processes import broker_process
from trio_kafka.testing.scripted_client import connected, newest
from trio_kafka.world.real import RealWorld

RECORD: Final = Path(__file__).parent / "data" / "kafka-4.4-classic-groups.txt"
GROUPS: Final = ("g", "static", "old", "none", "solo")
_UUID = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HOST = re.compile(r"client_host='/[^']*'")
Ask = Callable[[Any, int], Awaitable[Any]]


@define
class Conversation:
    """`lines`: what was said and answered."""

    ask: Ask
    lines: list[str] = field(factory=list)

    async def say(self, label: str, request: Any, version: int | None = None) -> Any:
        chosen = newest(type(request)) if version is None else version
        answer = await self.ask(request, chosen)
        for name in ("groups", "results"):
            rows = getattr(answer, name, None)
            if rows is not None:
                setattr(answer, name, sorted(rows, key=lambda row: row.group_id))
        text = _HOST.sub("client_host=HOST", _UUID.sub("-UUID", repr(answer)))
        self.lines.append(f"{label} v{chosen}: {text}")
        return answer

    async def in_all(self, label: str, make: Callable[[int], Any]) -> None:
        """The same in every version."""
        for version in range(newest(type(make(0))) + 1):
            await self.say(label, make(version), version)


async def ready(ask: Ask) -> None:
    """The groups have a coordinator that serves them."""
    for group in GROUPS:
        while (
            (await ask(FindCoordinatorRequest(coordinator_keys=[group]), 4))
            .coordinators[0]
            .error_code
        ):
            await trio.sleep(0.1)
        while (await ask(DescribeGroupsRequest([group]), 5)).groups[0].error_code:
            await trio.sleep(0.1)


def sync_request(version: int, group: str, generation: int, member: str, **how: Any) -> Any:
    named = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
    return SyncGroupRequest(group, generation, member, **{**named, **how})


def leave_request(version: int, group: str, *members: MemberIdentity) -> LeaveGroupRequest:
    if version < 3:
        return LeaveGroupRequest(group, members[0].member_id)
    return LeaveGroupRequest(group, members=list(members))


def commit_request(group: str, *who: Any) -> OffsetCommitRequest:
    part = OffsetCommitRequestPartition(0, 1, -1, "")
    return OffsetCommitRequest(
        group, *who, topics=[OffsetCommitRequestTopic("t", partitions=[part])]
    )


def protocols(*names: str) -> list[JoinGroupRequestProtocol]:
    return [JoinGroupRequestProtocol(name, METADATA) for name in names]


async def strangers(talk: Conversation) -> None:
    """Requests of clients that are members of no group."""
    for label, how in (
        ("session too short", {"session_timeout_ms": 1}),
        ("no group", {"group": ""}),
        ("unknown member", {"member_id": "ghost"}),
        ("no protocols", {"protocols": []}),
        ("no protocol type", {"protocol_type": ""}),
    ):
        fields: dict[str, Any] = dict(how)
        await talk.in_all(f"join: {label}", lambda v, fields=fields: join_request(v, **fields))
    for version in range(4, newest(JoinGroupRequest) + 1):
        await talk.say("join: id first", join_request(version), version)
    both = MemberIdentity("m"), MemberIdentity("", "i")
    for group in ("none", "g", ""):
        await talk.in_all(f"heartbeat to {group!r}", lambda _, g=group: HeartbeatRequest(g, 0, "m"))
        await talk.in_all(f"sync to {group!r}", lambda v, g=group: sync_request(v, g, 0, "m"))
        await talk.in_all(f"leave {group!r}", lambda v, g=group: leave_request(v, g, *both))
    await talk.say("sync without protocol", SyncGroupRequest("g", 0, "m"))
    options = [{}, {"include_authorized_operations": True}]
    await talk.in_all(
        "describe", lambda v: DescribeGroupsRequest(["none", "g", ""], **options[v >= 3])
    )


async def alone(talk: Conversation) -> None:
    """The only member of a group, from its join to its leave."""
    me = (await talk.say("join", join_request(9, group="solo"))).member_id
    await talk.say("join with the id", join_request(9, me, group="solo"))
    await talk.say("commit before sync", commit_request("solo", 1, me), 8)
    await talk.say("describe before sync", DescribeGroupsRequest(["solo"]))
    await talk.say("heartbeat before sync", HeartbeatRequest("solo", 1, me))
    for label, generation, how in (
        ("another generation", 5, {}),
        ("another protocol", 1, {"protocol_name": "x"}),
        ("another type", 1, {"protocol_type": "x"}),
        ("an instance", 1, {"group_instance_id": "x"}),
    ):
        fields: dict[str, Any] = dict(how)
        await talk.say(f"sync with {label}", sync_request(5, "solo", generation, me, **fields))
    mine = [SyncGroupRequestAssignment(me, b"mine"), SyncGroupRequestAssignment("who", b"x")]
    await talk.say("sync", sync_request(5, "solo", 1, me, assignments=mine))
    await talk.in_all("sync again", lambda v: sync_request(v, "solo", 1, me))
    await talk.in_all("describe when stable", lambda _: DescribeGroupsRequest(["solo"]))
    await talk.in_all("list", lambda _: ListGroupsRequest())
    for states, types in ((["sTable"], []), ([], ["Classic"]), ([], ["x"]), (["x"], [])):
        await talk.say(f"list {states} {types}", ListGroupsRequest(states, types))
    await talk.say("heartbeat with another generation", HeartbeatRequest("solo", 2, me))
    await talk.say("heartbeat with an instance", HeartbeatRequest("solo", 1, me, "x"))
    await talk.say("commit as nobody", commit_request("solo", -1, ""), 8)
    await talk.say("commit with another generation", commit_request("solo", 3, me), 8)
    other = {"group": "solo", "protocols": protocols("x")}
    await talk.say("join with another protocol", join_request(9, **other))
    await talk.say("join again with another protocol", join_request(9, me, **other))
    await talk.say("join as another type", join_request(9, group="solo", protocol_type="x"))
    await talk.in_all("delete", lambda _: DeleteGroupsRequest(["solo", "none", "solo"]))
    await talk.say("join again as leader", join_request(9, me, group="solo"))
    await talk.say("sync with the generation before", sync_request(5, "solo", 1, me))
    await talk.say("sync nothing", sync_request(5, "solo", 2, me))
    everybody = MemberIdentity(me), MemberIdentity(me), MemberIdentity("", "x")
    await talk.say("leave", leave_request(5, "solo", *everybody))
    await talk.say("describe when empty", DescribeGroupsRequest(["solo"]))
    await talk.say("heartbeat when gone", HeartbeatRequest("solo", 3, me))


async def static(talk: Conversation) -> None:
    """A static member that comes back, and who used its id before."""
    group = "static"
    me = (await talk.say("join as static", join_request(9, group=group, instance="i"))).member_id
    mine = [SyncGroupRequestAssignment(me, b"mine")]
    await talk.say(
        "sync as static", sync_request(5, group, 1, me, group_instance_id="i", assignments=mine)
    )
    for version in (9, 8, 5):
        await talk.say("back", join_request(version, group=group, instance="i"), version)
    await talk.say("fenced heartbeat", HeartbeatRequest(group, 1, me, "i"))
    await talk.say("fenced join", join_request(9, me, group=group, instance="i"))
    await talk.say("fenced sync", sync_request(5, group, 1, me, group_instance_id="i"))
    fenced = MemberIdentity(me, "i"), MemberIdentity("", None)
    await talk.say("fenced leave", leave_request(5, group, *fenced))
    await talk.say("fenced commit", commit_request(group, 1, me, "i"), 8)
    await talk.say("describe a static member", DescribeGroupsRequest([group]))
    await talk.say("remove by instance", leave_request(3, group, MemberIdentity("", "i")), 3)


async def old(talk: Conversation) -> None:
    """Versions that join at once."""
    for version in (0, 3):
        answer = await talk.say("join at once", join_request(version, group="old"), version)
        await talk.say("leave", LeaveGroupRequest("old", answer.member_id), 0)


async def converse(ask: Ask) -> list[str]:
    """All of it."""
    await ready(ask)
    talk = Conversation(ask)
    for part in (strangers, alone, static, old):
        await part(talk)
    await talk.in_all(
        "delete empty ones", lambda _: DeleteGroupsRequest(["solo", "none", "static", "g"])
    )
    await talk.say("list what is left", ListGroupsRequest())
    return talk.lines


async def _record(address: tuple[str, int]) -> Iterable[str]:
    async with connected(RealWorld(), Endpoint(*address)) as client:
        return await converse(client.ask)


def main() -> None:
    from tests.benchmarks.brokers import apache_kafka_command

    with (
        tempfile.TemporaryDirectory() as directory,
        broker_process(Path(directory), command=apache_kafka_command) as broker,
    ):
        RECORD.write_text("".join(f"{line}\n" for line in trio.run(_record, broker.address)))


if __name__ == "__main__":
    main()
