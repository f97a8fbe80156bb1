"""Waits of replies of a shard: for a turn, an open batch, a slice, or the commit of records."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.transactions import Coordinator, marker_request, offsets_request
from tests.coordinators.shards.kit import Words, staged, write
from tests.introspect.waiting import slow_disk, waiting
from trio_kafka.coordinators.groups.coordinator import FOR_MEMBERS, PURGATORIES
from trio_kafka.coordinators.shards.effects import Effects, Ticket
from trio_kafka.introspect.waits import Wait
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.peers.session import Request
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k09_offset_fetch import OffsetFetchRequest
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from trio_kafka.protocol.messages.k15_describe_groups import DescribeGroupsRequest
from trio_kafka.protocol.messages.k16_list_groups import ListGroupsRequest
from trio_kafka.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
)
from trio_kafka.protocol.messages.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
)
from trio_kafka.scheduling.chunked_work import Steps


def offset_commit(group_id: str) -> OffsetCommitRequest:
    row = OffsetCommitRequestPartition(0, committed_offset=1)
    return OffsetCommitRequest(group_id, topics=[OffsetCommitRequestTopic("t", partitions=[row])])


def consumer_heartbeat(group_id: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id,
        "AAAAAAAAAAAAAAAAAAAAAA",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )


def group_requests(number: int) -> dict[str, tuple[Request[Any], int]]:
    """A request for each purgatory of groups that waits for no member."""
    member = LeaveGroupRequest("g", members=[MemberIdentity("m")])
    return {
        "Heartbeat": (HeartbeatRequest("g", 1, "m"), 3),
        "LeaveGroup": (member, 3),
        "DescribeGroups": (DescribeGroupsRequest(["g"]), 1),
        "ListGroups": (ListGroupsRequest(), 1),
        "DeleteGroups": (DeleteGroupsRequest(["g"]), 1),
        "ConsumerGroupHeartbeat": (consumer_heartbeat("g"), 0),
        "ConsumerGroupDescribe": (ConsumerGroupDescribeRequest(["g"]), 0),
        "OffsetCommit": (offset_commit("g"), 8),
        "OffsetFetch": (OffsetFetchRequest("g", topics=None), 7),
        "TxnOffsetCommit": (offsets_request([0]), 5),
        "WriteTxnMarkers": (marker_request({CONSUMER_OFFSETS: [number]}), 2),
    }


@pytest.mark.parametrize("api", [name for name in PURGATORIES if name not in FOR_MEMBERS])
async def test_request_to_a_group_waits_for_the_sync_of_earlier_records(
    autojump_clock: MockClock, api: str
) -> None:
    async with waiting({"log.flush.interval.messages": "1"}) as waits:
        await waits.served.create_topic("t")
        await waits.served.serve_groups("g")
        await trio.sleep(5)
        Coordinator(waits.served)
        slow_disk(waits, "/data/__consumer_offsets")
        await waits.ask(offset_commit("g"), 8, after_s=0.1)
        await waits.ask(
            *group_requests(waits.served.broker.groups.topic.partition_of("g"))[api], after_s=0.5
        )

        (*_, latest) = await waits.facts(api)

    why = latest.why
    assert [(wait.cause, wait.on.kind) for wait in why] == [
        ("change", "shard"),
        ("sync", "partition"),
        ("sync", "directory"),
    ]
    assert why[0].on.name == why[1].on.name
    assert why[0].left_s == pytest.approx(4.5, 0.1)


def kinds(waits: tuple[Wait, ...]) -> list[tuple[str, str]]:
    return [(wait.cause, wait.words) for wait in waits]


async def test_reply_in_an_open_batch_waits_for_further_records() -> None:
    stage = staged(5)
    reply = stage.shard.ask(write("a"))

    assert kinds(stage.shard.waits("key", reply, 0.0)) == [
        ("time", "further records for the open batch of words-0")
    ]
    stage.unload()


async def test_reply_whose_event_is_computed_in_slices_waits_for_the_next_slice() -> None:
    stage = staged(0)
    first = stage.shard.ask(long_event)
    second = stage.shard.ask(write("b"))

    assert kinds(stage.shard.waits("key", first, 0.0)) == [
        ("steps", "its next slice of the loop in words-0")
    ]
    assert kinds(stage.shard.waits("key", second, 0.0)) == [
        ("change", "its turn in words-0, where 1 events wait")
    ]


async def test_reply_behind_records_waits_for_their_commit() -> None:
    stage = staged(0)
    stage.log.end = 0
    stage.shard.ask(write("a"))
    reply = stage.shard.ask(write("b"))

    assert kinds(stage.shard.waits("key", reply, 0.0)) == [
        ("change", "a commit of records in words-0, 2 in line")
    ]


def long_event(machine: Words, ticket: Ticket, now_ms: int) -> Steps[Effects]:
    del machine, now_ms
    for _ in range(1000):
        yield
    return Effects(answers=[(ticket, "done")])
