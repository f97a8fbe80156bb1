"""Fetches under faults: seeks meanwhile, lost responses, closed connections, restarts."""

import pytest
import trio

from tests.clients.consumer.kit import T0, T1, consumer_of, read, values
from trio_kafka.testing.simulate import simulate


@simulate(seeds=2)
async def test_response_to_a_fetch_before_a_seek_is_not_applied(sim):
    await sim.kafka.create_topic("t")
    await sim.kafka.produce("t", *[b"%d" % n for n in range(100)])

    async with consumer_of(sim, max_poll_records=10) as consumer:
        consumer.assign([T0])
        await read(consumer, 1)
        held = sim.kafka.fault(api="Fetch", hold=True, times=1)
        consumer.seek(T0, 100)
        with trio.move_on_after(5.0):
            while not held.hits:
                await consumer.poll(0.1)
        consumer.seek(T0, 90)
        held.release()
        records = await read(consumer, 10)

    assert [record.offset for record in records] == list(range(90, 100))


@pytest.mark.parametrize(
    "fault",
    [
        {"api": "Fetch", "drop": True, "times": 2},
        {"api": "Fetch", "disconnect": "before", "times": 3},
        {"api": "Fetch", "disconnect": "after", "times": 3},
        {"api": "Fetch", "error": "FETCH_SESSION_ID_NOT_FOUND", "times": 2},
        {"api": "Fetch", "error": "INVALID_FETCH_SESSION_EPOCH", "times": 2},
        {"api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER", "times": 3},
        {"api": "Fetch", "corrupt": "response", "times": 2},
        {"api": "ListOffsets", "drop": True, "times": 1},
        {"api": "ListOffsets", "error": "NOT_LEADER_OR_FOLLOWER", "times": 2},
        {"api": "Metadata", "disconnect": "before", "times": 2},
    ],
    ids=lambda fault: "-".join(str(value) for value in fault.values()),
)
def test_every_record_is_read_once_in_order_after_a(fault):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t", 2)
        seen = []
        async with consumer_of(sim, request_timeout_ms=3000) as consumer:
            sim.kafka.fault(**fault)
            consumer.assign([T0, T1])
            for start in range(0, 50, 10):
                await sim.kafka.produce("t", *[b"%d" % n for n in range(start, start + 10)])
                seen += await read(consumer, 10)

        assert sorted(map(int, values(seen))) == list(range(50))
        for at in (T0, T1):
            offsets = [record.offset for record in seen if record.partition == at.partition]
            assert offsets == list(range(len(offsets)))

    run()


@simulate(seeds=2)
async def test_reading_continues_after_a_crash_and_a_restart_of_the_broker(sim):
    await sim.kafka.create_topic("t")
    await sim.kafka.produce("t", b"0", b"1")

    async with consumer_of(sim) as consumer:
        consumer.assign([T0])
        seen = values(await read(consumer, 2))
        await sim.kafka.kill()
        assert await consumer.poll(2.0) == []
        await sim.kafka.start()
        await sim.kafka.produce("t", b"2")
        seen += values(await read(consumer, 1))

    assert seen == [b"0", b"1", b"2"]


@simulate(seeds=2)
async def test_records_of_aborted_transactions_are_not_read_and_the_position_passes_them(sim):
    await sim.kafka.create_topic("t")
    await sim.kafka.produce("t", b"a", transactional_id="x")
    await sim.kafka.commit("x")
    await sim.kafka.produce("t", b"b", b"c", transactional_id="x")
    await sim.kafka.abort("x")

    async with consumer_of(sim, isolation_level="read_committed") as consumer:
        consumer.assign([T0])
        assert values(await read(consumer, 1)) == [b"a"]
        assert await consumer.poll(3.0) == []
        assert await consumer.position(T0) == (await consumer.end_offsets([T0]))[T0]
    async with consumer_of(sim) as consumer:
        consumer.assign([T0])
        assert values(await read(consumer, 3)) == [b"a", b"b", b"c"]


@simulate(seeds=1)
async def test_what_is_buffered_stays_below_the_limit_while_no_task_reads(sim):
    await sim.kafka.create_topic("t", 2)
    for _ in range(20):
        await sim.kafka.produce("t", *[bytes(1000) for _ in range(10)])

    async with consumer_of(
        sim, fetch_max_bytes=50_000, max_partition_fetch_bytes=20_000
    ) as consumer:
        consumer.assign([T0, T1])
        await consumer.poll(1.0)
        await trio.sleep(10.0)
        assert 0 < consumer.positions.buffered <= 50_000
        consumer.pause(T0)
        rest = 0
        while records := await consumer.poll(2.0):
            rest += len(records)
            assert {record.partition for record in records} == {1}
    assert rest


@simulate(seeds=2)
async def test_broker_that_stops_answering_takes_no_more_memory_than_the_limit(sim):
    await sim.kafka.create_topic("t", 2)
    for _ in range(20):
        await sim.kafka.produce("t", *[bytes(1000) for _ in range(10)])

    async with consumer_of(
        sim, fetch_max_bytes=50_000, max_partition_fetch_bytes=20_000, request_timeout_ms=2000
    ) as consumer:
        consumer.assign([T0, T1])
        count = len(await consumer.poll(5.0))
        nodes = consumer.fetcher.rows.nodes
        for _ in range(3):
            sim.universe.cut("kafka", "clients")
            count += len(await consumer.poll(0.1))
            for _ in range(10):
                await trio.sleep(1.0)
                reserved = sum(node.reserved or 0 for node in nodes.values())
                assert consumer.positions.buffered + reserved <= 50_000
            sim.universe.heal("kafka", "clients")
            count += len(await consumer.poll(5.0))
        while count < 200:
            count += len(await read(consumer, 1))
        assert await consumer.poll(3.0) == []
    assert count == 200
