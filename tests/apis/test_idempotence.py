"""Idempotent producers through the whole broker: each batch once and in order, in every version of
Produce, through restarts, power losses and silence.
"""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import IDS_SINCE, NOW_MS, batch, broker, produce, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.log.files.names import SNAPSHOT
from trio_kafka.protocol.messages.k00_produce import PartitionProduceResponse, ProduceRequest
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k61_describe_producers import (
    DescribeProducersRequest,
    TopicRequest,
)
from trio_kafka.testing.broker import DATA, ServedBroker, served_broker
from trio_kafka.testing.simulation import run_until_crash, simulated_world
from trio_kafka.world.simulated import SimulatedWorld

LAST = (1 << 31) - 1
PRODUCER = 4000


async def send(
    served: ServedBroker,
    sequence: int,
    *,
    count: int = 2,
    epoch: int = 0,
    topic: str | bytes = "t",
    version: int | None = None,
    timestamp: int = NOW_MS,
) -> PartitionProduceResponse:
    records = batch(
        *[b"v"] * count,
        timestamp=timestamp,
        producer_id=PRODUCER,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    return await produce(served, topic, records, version=version, acks=-1)


async def producer_ids(served: ServedBroker) -> list[int]:
    request = DescribeProducersRequest([TopicRequest("t", [0])])
    (row,) = (await served.ask(request, 0)).topics
    return [producer.producer_id for producer in row.partitions[0].active_producers]


@pytest.mark.parametrize("version", stable(ProduceRequest))
async def test_sequences_epochs_and_duplicate_batches_are_checked_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        topic = topic_id if version >= IDS_SINCE else "t"

        async def answer(sequence: int, **fields: int) -> tuple[int, int]:
            response = await send(served, sequence, topic=topic, version=version, **fields)
            return response.error_code, response.base_offset

        out_of_order = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
        assert [await answer(2 * number) for number in range(6)] == [
            (0, 2 * number) for number in range(6)
        ]
        assert [await answer(2 * number) for number in (5, 1, 3)] == [(0, 10), (0, 2), (0, 6)]
        assert await answer(0) == out_of_order  # six batches ago
        assert await answer(10, count=1) == out_of_order  # a part of a batch is no repeat
        assert await answer(14) == out_of_order
        assert await answer(12, epoch=1) == out_of_order
        assert await answer(0, epoch=1) == (0, 12)
        assert await answer(12) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)
        assert await answer(2, epoch=1) == (0, 14)


@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
@pytest.mark.parametrize("version", stable(ProduceRequest))
async def test_a_duplicate_batch_is_answered_with_offset_time_and_log_start_of_the_first(
    autojump_clock: MockClock, version: int, kind: str
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t", configs={"message.timestamp.type": kind})
        topic = topic_id if version >= IDS_SINCE else "t"
        first = await send(served, 0, topic=topic, version=version, timestamp=NOW_MS - 5)
        await trio.sleep(1)
        again = await send(served, 0, topic=topic, version=version, timestamp=NOW_MS - 5)

    assert (again.error_code, again.base_offset) == (0, first.base_offset)
    assert again.log_start_offset == first.log_start_offset
    if kind == "LogAppendTime":
        assert again.log_append_time_ms == first.log_append_time_ms >= NOW_MS
    else:
        assert (first.log_append_time_ms, again.log_append_time_ms) == (-1, NOW_MS - 5)


async def test_sequence_numbers_wrap_from_the_maximum_to_zero(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        for sequence, offset in ((LAST - 2, 0), (LAST, 2), (1, 4), (3, 6)):
            response = await send(served, sequence)
            assert (response.error_code, response.base_offset) == (0, offset)
        assert (await send(served, LAST)).base_offset == 2
        assert (await send(served, 4)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


async def test_the_last_batch_of_a_producer_is_remembered_after_a_clean_shutdown(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.create_topic("t")
        for number in range(3):
            await send(served, 2 * number)
        names = world.directory(f"{DATA}/t-0").names()
        assert not [name for name in names if name.endswith(SNAPSHOT)]

    names = world.directory(f"{DATA}/t-0").names()
    assert [name for name in names if name.endswith(SNAPSHOT)] == [f"{6:020}.snapshot"]
    async with served_broker(world) as served:
        assert (await send(served, 4)).base_offset == 4
        assert (await send(served, 2)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert (await send(served, 6)).base_offset == 6


@pytest.mark.parametrize("seed", range(4))
async def test_acknowledged_batches_are_recognized_as_duplicates_after_a_power_loss(
    autojump_clock: MockClock, seed: int
) -> None:
    world = simulated_world(seed=seed)
    settings = {"log.segment.bytes": "1048576", "log.flush.interval.messages": "1"}
    offsets: dict[int, int] = {}

    async def life(world: SimulatedWorld) -> None:
        async with served_broker(world, settings) as served:
            await served.create_topic("t")
            while True:
                response = await send(served, 2 * len(offsets), count=2)
                assert response.error_code == 0
                offsets[2 * len(offsets)] = response.base_offset

    await run_until_crash(world, life, 1.0, kept=0.0)
    world = world.universe.machine(world.name)

    assert len(offsets) > 5
    async with served_broker(world, settings) as served:
        for sequence in sorted(offsets)[-4:]:  # one that nobody heard of may be the fifth
            again = await send(served, sequence)
            assert (again.error_code, again.base_offset) == (0, offsets[sequence])


async def test_an_idle_producer_expires_and_may_start_at_any_sequence(
    autojump_clock: MockClock,
) -> None:
    settings = {
        "producer.id.expiration.ms": "60000",
        "producer.id.expiration.check.interval.ms": "1000",
    }
    async with broker(settings) as served:
        await served.create_topic("t")
        now = served.broker.logs.now_ms()
        await send(served, 0, timestamp=now)
        await trio.sleep(58)
        assert await producer_ids(served) == [PRODUCER]
        assert (await send(served, 7)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

        await trio.sleep(3)

        assert await producer_ids(served) == []
        response = await send(served, 7, timestamp=served.broker.logs.now_ms())
        assert (response.error_code, response.base_offset) == (0, 2)


async def test_a_producer_that_expired_while_the_broker_was_down_is_dropped_at_start(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    settings = {"producer.id.expiration.ms": "60000"}
    async with served_broker(world, settings) as served:
        await served.create_topic("t")
        await send(served, 0, timestamp=served.broker.logs.now_ms())
        assert await producer_ids(served) == [PRODUCER]

    await trio.sleep(61)

    async with served_broker(world, settings) as served:
        assert await producer_ids(served) == []
        assert (await send(served, 9)).error_code == 0


async def test_retention_keeps_producer_state_and_removes_old_producer_snapshots(
    autojump_clock: MockClock,
) -> None:
    settings = {"log.retention.check.interval.ms": "1000", "log.initial.task.delay.ms": "0"}
    configs = {"segment.bytes": "1048576", "retention.ms": "5000", "segment.ms": "2000"}
    world = simulated_world()
    async with served_broker(world, settings) as served:
        await served.create_topic("t", configs=configs)
        for number in range(6):
            await send(served, 2 * number, timestamp=served.broker.logs.now_ms())
            await trio.sleep(3)
        log = served.broker.logs.logs[0]
        bases = [segment.base_offset for segment in log.segments]
        assert log.start_offset > 0
        names = log.directory.names()
        assert sorted(name for name in names if name.endswith(SNAPSHOT)) == [
            f"{base:020}.snapshot" for base in bases
        ]

        await trio.sleep(30)  # all records go

        assert log.start_offset == log.end_offset == 12
        assert (await send(served, 14)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert (await send(served, 12)).base_offset == 12


async def test_a_block_of_producer_ids_is_one_record_in_the_metadata_log(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        before = served.broker.metadata.image
        assert before.next_producer_id == 0
        for number in range(3):
            answer = await served.ask(InitProducerIdRequest(None, 1000), 5)
            assert answer.producer_id == number

        after = served.broker.metadata.image
        assert after.next_producer_id == 1000
        assert after.offset == before.offset + 1
