"""A healthy, busy broker has no findings: a load in virtual time, with a viewer all the time."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import batch, fetch_request, produce_request
from tests.trio_kafka_admin.drills.kit import Drill, drill
from tests.trio_kafka_admin.group_kit import heartbeat
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from trio_kafka.testing.scripted_client import newest

PARTITIONS = 3
COMMIT_S = 5.0  # as clients commit by default
RECORDS = 100  # a batch
GROUP = "billing"


@pytest.mark.parametrize(
    "minutes", [1, pytest.param(60, marks=[pytest.mark.long, pytest.mark.timeout(2400)])]
)
async def test_healthy_busy_broker_has_no_findings(autojump_clock: MockClock, minutes: int) -> None:
    async with drill(settings={"group.consumer.session.timeout.ms": "45000"}) as exercise:
        topic = await exercise.served.create_topic("orders", PARTITIONS)
        await exercise.served.serve_groups(GROUP)
        # An idle consumer, whose Fetch waits for a record for as long as it may.
        idle = await exercise.served.create_topic("idle")
        exercise.hang(fetch_request(idle, 0, max_wait_ms=2**31 - 1), "idle-reader")
        for number in range(PARTITIONS):
            exercise.nursery.start_soon(_produce, exercise, topic, number)
        exercise.nursery.start_soon(_consume, exercise, topic)
        result = set[str]()
        lag = 0
        for _ in range(minutes * 60):
            page = await exercise.look()
            exercise.seen.clear()
            result.update(row["words"] for row in page["findings"] + page["ended"])
            coordinator = page["lanes"][0]["stages"][5]
            words = [row["words"] for row in coordinator["rows"] if row["label"] == GROUP]
            lag = max([lag, *(_lag(text) for text in words)])
            await trio.sleep(1)

    assert result == set()
    assert lag > 3_000  # between two commits it lags, as all do


def _lag(words: str) -> int:
    return int(words.rpartition("lag ")[2].replace(",", "")) if "lag " in words else 0


async def _produce(exercise: Drill, topic: bytes, partition: int) -> None:
    """Ten batches a second, and none for a while now and then."""
    async with exercise.served.connect() as client:
        client.client_id = f"shop-{partition}"
        while True:
            for _ in range(150):
                request = produce_request(topic, (partition, batch(*[b"order"] * RECORDS)))
                await client.ask(request, newest(type(request)))
                await trio.sleep(0.2)
            await trio.sleep(7)


async def _consume(exercise: Drill, topic: bytes) -> None:
    """Read all partitions, commit each 5 s, and restart each minute as for a new version."""
    restarts = 0
    offsets = [0] * PARTITIONS
    async with exercise.served.connect() as client:
        client.client_id = "billing-1"
        while True:
            restarts += 1
            name = f"member-{restarts}"
            epoch = (await heartbeat(client, GROUP, name, "orders")).member_epoch
            assigned = [TopicPartitions(topic, list(range(PARTITIONS)))]
            beat = ConsumerGroupHeartbeatRequest(GROUP, name, epoch, topic_partitions=assigned)
            await client.ask(beat, 1)
            end = trio.current_time() + 60
            while trio.current_time() < end:
                commit_at = trio.current_time() + COMMIT_S
                while trio.current_time() < commit_at:
                    request = fetch_request(topic, *offsets, max_wait_ms=500)
                    answer = await client.ask(request, newest(type(request)))
                    for part in answer.responses[0].partitions if answer.responses else ():
                        offsets[part.partition_index] = part.high_watermark
                    await trio.sleep(0.1)
                rows = [OffsetCommitRequestPartition(n, at) for n, at in enumerate(offsets)]
                topics = [OffsetCommitRequestTopic(topic_id=topic, partitions=rows)]
                commit = OffsetCommitRequest(GROUP, epoch, name, topics=topics)
                await client.ask(commit, newest(OffsetCommitRequest))
                await client.ask(ConsumerGroupHeartbeatRequest(GROUP, name, epoch), 1)
            await client.ask(ConsumerGroupHeartbeatRequest(GROUP, name, -1), 1)
