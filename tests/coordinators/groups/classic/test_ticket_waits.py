"""Waits of pending JoinGroups and SyncGroups: for a group, and for a member."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.classic import join, join_request, sync
from tests.introspect.waiting import chain, waiting
from trio_kafka.protocol.messages.k11_join_group import JoinGroupResponse
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k14_sync_group import SyncGroupRequest
from trio_kafka.testing.scripted_client import ScriptedClient


async def test_join_waits_for_the_member_that_has_not_rejoined(autojump_clock: MockClock) -> None:
    async with waiting({"group.initial.rebalance.delay.ms": "0"}) as waits:
        await waits.served.serve_groups("settle")
        silent = await join(waits.served, group="settle", session_timeout_ms=30_000)
        await sync(waits.served, silent, {silent.member_id: b""})
        await trio.sleep(5)
        newcomer = join_request(3, group="settle", session_timeout_ms=30_000)
        await waits.ask(newcomer, 3)
        await trio.sleep(4)

        group, member = await waits.why("JoinGroup")

    assert chain((group, member)) == [
        ("member", "group", "settle"),
        ("member", "member", f"settle/{silent.member_id}"),
    ]
    assert (group.has, group.needs, group.unit) == (1, 2, "members")
    assert group.words == "1 of 2 members of group settle have joined"
    assert group.left_s == pytest.approx(55, 0.1)
    assert member.words == (
        f"member {silent.member_id} has not rejoined for 5.0 s, last heartbeat 10 s ago"
    )
    assert member.age_s == pytest.approx(5, 0.1)
    assert member.then == "it is removed from the group"


async def test_silent_member_is_removed_when_its_session_ends(autojump_clock: MockClock) -> None:
    async with waiting({"group.initial.rebalance.delay.ms": "0"}) as waits:
        await waits.served.serve_groups("g")
        silent = await join(waits.served, session_timeout_ms=30_000)
        await sync(waits.served, silent, {silent.member_id: b""})
        await waits.ask(join_request(3, session_timeout_ms=30_000), 3)
        before = (await waits.why("JoinGroup"))[1].left_s
        await trio.sleep(22)
        after = (await waits.why("JoinGroup"))[1].left_s
        await trio.sleep(8)
        removed = await waits.facts("JoinGroup")

    assert before == pytest.approx(59, 0.1)  # it may be alive: the group's own deadline
    assert after == pytest.approx(7, 0.1)
    assert removed == []


async def test_first_join_of_a_group_waits_for_more_members(autojump_clock: MockClock) -> None:
    async with waiting({"group.initial.rebalance.delay.ms": "9000"}) as waits:
        await waits.served.serve_groups("g")
        await waits.ask(join_request(3), 3)

        (wait,) = await waits.why("JoinGroup")

    assert chain((wait,)) == [("time", "group", "g")]
    assert wait.left_s == pytest.approx(8, 0.1)
    assert wait.then == "its first generation begins"


async def test_sync_waits_for_the_assignment_of_the_leader(autojump_clock: MockClock) -> None:
    async with waiting({"group.initial.rebalance.delay.ms": "1000"}) as waits:
        await waits.served.serve_groups("g")
        async with waits.served.connect() as first, waits.served.connect() as second:
            answers = []

            async def join_with(client: Any) -> None:
                answers.append(await join(client, 3))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(join_with, first)
                nursery.start_soon(join_with, second)
            leader = answers[0].leader
            follower = next(answer for answer in answers if answer.member_id != leader)
            request = SyncGroupRequest("g", follower.generation_id, follower.member_id)
            await waits.ask(request, 2)

            group, member = await waits.why("SyncGroup")

    assert chain((group, member)) == [
        ("member", "group", "g"),
        ("member", "member", f"g/{leader}"),
    ]
    assert (group.has, group.needs, group.unit) == (0, 1, "assignments")
    assert "leads the group and has not sent the assignment" in member.words


async def test_group_names_the_member_that_has_been_silent_for_longest(
    autojump_clock: MockClock,
) -> None:
    settings = {"group.initial.rebalance.delay.ms": "1000"}
    async with waiting(settings) as waits:
        await waits.served.serve_groups("g")
        async with waits.served.connect() as first, waits.served.connect() as second:
            joined = dict[str, JoinGroupResponse]()

            async def join_with(name: str, client: ScriptedClient) -> None:
                joined[name] = await join(client, 3, session_timeout_ms=60_000)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(join_with, "first", first)
                nursery.start_soon(join_with, "second", second)
            silent, alive = joined["first"], joined["second"]
            await trio.sleep(5)
            await second.ask(HeartbeatRequest("g", alive.generation_id, alive.member_id), 3)
            await waits.ask(join_request(3), 3)

            group, member = await waits.why("JoinGroup")

    assert (group.has, group.needs) == (1, 3)
    assert member.on.name == f"g/{silent.member_id}"
    assert member.words.endswith(", last heartbeat 6.0 s ago, like 1 more")
