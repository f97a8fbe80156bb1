"""Waits as data: each kind of wait in the code fills them, through a whole broker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args

import pytest
import trio
from attrs import define
from trio.testing import MockClock

from tests.apis.classic import join, join_request, sync
from tests.apis.kit import batch, fetch_request, produce_request
from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.waits import SubjectKind, Wait, WaitCause, seconds
from trio_kafka.peers.session import Request
from trio_kafka.plugin import Plugin
from trio_kafka.plugin_host.state_access import read_request_facts_as
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k14_sync_group import SyncGroupRequest
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.security.principal import NOBODY
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.scripted_client import newest
from trio_kafka.testing.simulation import fault_on, simulated_world

FLUSHED = {"flush.messages": "1"}


def check(wait: Wait) -> None:
    """A wait says its cause, in words, and on what; figures have a unit, deadlines an end."""
    assert wait.cause in get_args(WaitCause)
    assert wait.on.kind in get_args(SubjectKind)
    assert wait.on.name
    assert wait.words
    assert wait.words == " ".join(wait.words.split())
    assert (wait.needs is None) == (wait.unit == "")
    assert wait.has is None or wait.needs is not None
    assert wait.age_s is None or wait.age_s >= 0
    if wait.left_s is not None:
        assert wait.left_s >= 0
        assert wait.then


@define(eq=False, kw_only=True)
class Waits:
    """A broker, and requests that wait in it."""

    served: ServedBroker
    nursery: trio.Nursery

    async def ask(self, request: Request[Any], version: int | None = None) -> None:
        """Have a client of its own ask, and wait until nothing happens any more for 1 s."""
        version = newest(type(request)) if version is None else version

        async def client() -> None:
            async with self.served.connect() as connection:
                await connection.ask(request, version)

        self.nursery.start_soon(client)
        await trio.sleep(1)

    async def facts(self, api: str) -> list[RequestFacts]:
        """Facts of the requests of an API in flight, all of them well-formed."""
        parts = self.served.broker.parts
        facts = [row for row in await read_request_facts_as(NOBODY, parts) if row.api == api]
        for row in facts:
            for wait in row.why:
                check(wait)
        return facts

    async def why(self, api: str) -> tuple[Wait, ...]:
        (facts,) = await self.facts(api)
        return facts.why


@asynccontextmanager
async def waiting(
    settings: dict[str, str] | None = None, plugins: tuple[Plugin, ...] = ()
) -> AsyncIterator[Waits]:
    async with (
        served_broker(simulated_world(), settings, plugins=plugins) as served,
        trio.open_nursery() as nursery,
    ):
        yield Waits(served=served, nursery=nursery)
        served.broker.world.universe.fault = fault_on("none", None)
        nursery.cancel_scope.cancel()


def slow_disk(waits: Waits, place: str, seconds: float = 20.0, call: str = "sync") -> None:
    waits.served.broker.world.universe.fault = fault_on(call, seconds, place)


def chain(why: tuple[Wait, ...]) -> list[tuple[str, str, str]]:
    return [(wait.cause, wait.on.kind, wait.on.name) for wait in why]


@pytest.mark.parametrize(
    ("span_s", "words"),
    [(0.04, "0.0 s"), (3.14, "3.1 s"), (51.4, "51 s"), (600, "10 min"), (9000, "2.5 h")],
)
def test_span_of_time_in_words_has_two_digits(span_s: float, words: str) -> None:
    assert seconds(span_s) == words


# Requests


async def test_fetch_waits_for_bytes_of_its_partition_until_its_longest_wait(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("rare")
        records = batch(*[b"x"] * 12)
        await waits.served.ask(produce_request(topic, (0, records)))
        await waits.ask(fetch_request(topic, 0, max_wait_ms=30_000, min_bytes=100_000))

        (wait,) = await waits.why("Fetch")

    assert chain((wait,)) == [("bytes", "partition", "rare-0")]
    assert wait.words == f"{len(records)} of 100,000 bytes from rare-0"
    assert (wait.has, wait.needs, wait.unit) == (len(records), 100_000, "bytes")
    assert (wait.age_s, wait.left_s) == (pytest.approx(1, 0.1), pytest.approx(29, 0.1))
    assert wait.then == "it is answered with what is there"


async def test_fetch_of_many_partitions_names_their_topics(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("wide", 300)
        await waits.ask(fetch_request(topic, *[0] * 300, max_wait_ms=30_000))

        (wait,) = await waits.why("Fetch")

    assert chain((wait,)) == [("bytes", "topic", "wide")]
    assert wait.words == "0 of 1 bytes from topic wide, 300 partitions"


async def test_produce_waits_for_a_sync_that_its_directory_has_under_way(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("t", configs=FLUSHED)
        await trio.sleep(1)
        slow_disk(waits, "/data/t-0")
        await waits.ask(produce_request(topic, (0, batch(b"a", b"b"))))
        await trio.sleep(2)

        own, directory = await waits.why("Produce")

    assert chain((own, directory)) == [
        ("sync", "partition", "t-0"),
        ("sync", "directory", "/data"),
    ]
    assert (own.has, own.needs, own.unit) == (0, 2, "offset")
    assert own.left_s == pytest.approx(27, 0.1)
    assert directory.age_s == pytest.approx(3, 0.1)
    assert directory.words == "a sync of /data has been under way for 3.0 s"


async def test_produce_to_several_partitions_says_how_many_wait(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("t", 3, configs=FLUSHED)
        await trio.sleep(1)
        slow_disk(waits, "/data/t-")
        await waits.ask(produce_request(topic, *((number, batch(b"a")) for number in range(3))))

        own, *_ = await waits.why("Produce")

    assert own.on.name == "t-0"
    assert own.words.endswith(", and 2 more like it")


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


async def test_commit_of_offsets_waits_for_a_sync_of_its_shard(autojump_clock: MockClock) -> None:
    async with waiting({"log.flush.interval.messages": "1"}) as waits:
        await waits.served.create_topic("t")
        await waits.served.serve_groups("g")
        await trio.sleep(5)
        slow_disk(waits, "/data/__consumer_offsets")
        row = OffsetCommitRequestPartition(0, committed_offset=1)
        topics = [OffsetCommitRequestTopic("t", partitions=[row])]
        await waits.ask(OffsetCommitRequest("g", topics=topics), 8)

        why = await waits.why("OffsetCommit")

    assert [(wait.cause, wait.on.kind) for wait in why] == [
        ("change", "shard"),
        ("sync", "partition"),
        ("sync", "directory"),
    ]
    assert why[0].on.name == why[1].on.name
    assert why[0].left_s == pytest.approx(4, 0.1)


async def test_creation_of_a_topic_waits_for_the_controller_and_its_log(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        slow_disk(waits, "__cluster_metadata-0")
        await waits.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=60_000))

        why = await waits.why("CreateTopics")

    assert chain(why) == [
        ("change", "controller", "quorum-controller"),
        ("sync", "partition", "__cluster_metadata-0"),
        ("sync", "directory", "/data"),
    ]
    assert why[0].words == "the controller to create topics"
    assert why[1].needs is not None
    assert why[1].has is not None
    assert why[1].has < why[1].needs
