"""Drills: a silent member, lag in one partition, a consumer in a crash loop."""

import trio
from trio.testing import MockClock

from tests.apis.classic import join, join_request, sync
from tests.apis.kit import batch, produce_request
from tests.trio_kafka_admin.drills.kit import drill
from tests.trio_kafka_admin.drills.troubles import tell
from tests.trio_kafka_admin.group_kit import heartbeat
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from trio_kafka.testing.scripted_client import newest
from trio_kafka_admin.tree_snapshots import STALE_S

JOIN = 3  # version of JoinGroup that needs no second request


async def test_group_stuck_on_a_silent_member_names_it_and_when_it_is_removed(
    autojump_clock: MockClock,
) -> None:
    settings = {"group.initial.rebalance.delay.ms": "0"}
    async with drill(settings=settings) as exercise, exercise.served.connect() as client:
        await exercise.served.serve_groups("settlement")
        client.client_id = "settle-a"
        silent = await join(client, JOIN, group="settlement", session_timeout_ms=300_000)
        await sync(client, silent, {silent.member_id: b""}, group="settlement")
        exercise.hang(join_request(JOIN, group="settlement"), "settle-b", JOIN)
        finding = await exercise.find("silent-member")
        await tell(exercise.ui, "silent-member", finding)

    assert finding["title"] == "group settlement waits for member settle-a (127.0.0.1)"
    assert "which has not rejoined for " in finding["more"]
    assert " and is removed in 5" in finding["more"]  # of the rebalance timeout of 60 s
    assert (finding["severity"], finding["link"]["name"]) == ("wrong", "settlement")
    copy = finding["copy"]
    assert (copy["kind"], copy["group"], copy["client"]) == (
        "silent-member",
        "settlement",
        "settle-a",
    )


async def test_lag_that_grows_in_one_partition_names_partition_and_member(
    autojump_clock: MockClock,
) -> None:
    async with drill() as exercise:
        served = exercise.served
        topic = await served.create_topic("metering", 3)
        await served.serve_groups("billing")
        joined = await heartbeat(served, "billing", "meter-reader", "metering")
        assigned = TopicPartitions(topic, [0, 1, 2])
        epoch = joined.member_epoch
        beat = ConsumerGroupHeartbeatRequest(
            "billing", "meter-reader", epoch, topic_partitions=[assigned]
        )
        await served.ask(beat, 1)
        for number, lag in ((0, 0), (1, 20), (2, 0)):
            for _ in range(lag):
                await served.ask(produce_request(topic, *_rows(number, 1000)))

        async def write() -> None:
            while True:
                await served.ask(ConsumerGroupHeartbeatRequest("billing", "meter-reader", epoch), 1)
                await served.ask(produce_request(topic, *_rows(1, 500)))
                await trio.sleep(1)

        rows = [OffsetCommitRequestPartition(number, committed_offset=0) for number in range(3)]
        topics = [OffsetCommitRequestTopic(topic_id=topic, partitions=rows)]
        commit = OffsetCommitRequest("billing", epoch, "meter-reader", topics=topics)
        await served.ask(commit, newest(OffsetCommitRequest))
        exercise.nursery.start_soon(write)
        await trio.sleep(STALE_S)  # the viewer comes back, and has nothing to compare with
        finding = await exercise.find("lag")
        await tell(exercise.ui, "lag", finding)

    assert finding["title"] == "group billing falls behind in metering-1"
    assert "read by member scripted (127.0.0.1)" in finding["more"]
    assert " more than " in finding["more"]
    assert finding["subject"] == {"kind": "partition", "name": "metering-1"}


def _rows(partition: int, count: int) -> list[tuple[int, memoryview]]:
    return [(partition, batch(*[b"x"] * count))]


async def test_consumer_in_a_crash_loop_is_named_with_how_often_it_joined(
    autojump_clock: MockClock,
) -> None:
    settings = {"group.initial.rebalance.delay.ms": "0"}
    async with drill(settings=settings) as exercise:
        await exercise.served.serve_groups("reports")
        for _ in range(4):
            async with exercise.served.connect() as client:
                client.client_id = "reporter"
                joined = await join(client, JOIN, group="reports")
                await trio.sleep(4)
                member = MemberIdentity(joined.member_id)
                leave = LeaveGroupRequest("reports", members=[member])
                await client.ask(leave, newest(LeaveGroupRequest))
            await trio.sleep(1)
        finding = await exercise.find("crash-loop")
        await tell(exercise.ui, "crash-loop", finding)

    assert finding["title"] == "client reporter starts again and again in group reports"
    assert "it joined 4 times in " in finding["more"]
    assert "and left 4 times" in finding["more"]
