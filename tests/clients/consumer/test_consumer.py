"""The consumer against the broker, in one loop and virtual time."""

import pytest
import trio

from tests.clients.consumer.kit import T0, T1, consumer_of, read, values
from trio_kafka.clients import open_consumer
from trio_kafka.clients.consumer.values import as_bytes
from trio_kafka.clients.errors import NoOffsetError, OffsetOutOfRangeError, SerializationError
from trio_kafka.testing.simulate import simulate


@simulate(seeds=2)
async def test_assigned_partitions_are_read_from_the_start(sim):
    await sim.kafka.create_topic("t", 2)
    await sim.kafka.produce("t", *[b"%d" % n for n in range(20)])

    async with consumer_of(sim) as consumer:
        consumer.assign([T0, T1])
        records = await read(consumer, 20)

    assert sorted(values(records)) == sorted(b"%d" % n for n in range(20))
    for at in (T0, T1):
        offsets = [r.offset for r in records if r.partition == at.partition]
        assert offsets == list(range(len(offsets)))


@simulate(seeds=2)
async def test_iteration_waits_for_records_and_gives_them_one_by_one(sim):
    await sim.kafka.create_topic("t")
    seen = []

    async def produce():
        for number in range(5):
            await trio.sleep(1.0)
            await sim.kafka.produce("t", b"%d" % number)

    async with consumer_of(sim) as consumer, trio.open_nursery() as nursery:
        nursery.start_soon(produce)
        consumer.assign([T0])
        async for record in consumer:
            seen.append(record.value)
            assert await consumer.position(T0) == record.offset + 1
            if len(seen) == 5:
                break

    assert seen == [b"0", b"1", b"2", b"3", b"4"]


@simulate(seeds=1)
async def test_poll_returns_nothing_when_the_time_is_over(sim):
    await sim.kafka.create_topic("t")

    async with consumer_of(sim) as consumer:
        consumer.assign([T0])
        start = trio.current_time()
        assert await consumer.poll(2.0) == []
        assert trio.current_time() - start == pytest.approx(2.0)


@simulate(seeds=1)
async def test_offsets_are_found_by_time_and_at_both_ends(sim):
    await sim.kafka.create_topic("t")
    for _ in range(3):
        await sim.kafka.produce("t", b"x")
        await trio.sleep(10.0)
    times = [record.timestamp_ms for record in await sim.kafka.records("t")]

    async with consumer_of(sim) as consumer:
        consumer.assign([T0])
        assert await consumer.beginning_offsets([T0]) == {T0: 0}
        assert await consumer.end_offsets([T0]) == {T0: 3}
        by_time = await consumer.offsets_for_times({T0: times[1]})
        assert by_time[T0].offset == 1
        assert await consumer.offsets_for_times({T0: times[2] + 1}) == {T0: None}
        consumer.seek_to_time(times[2])
        assert [record.offset for record in await read(consumer, 1)] == [2]
        consumer.seek_to_end()
        assert await consumer.position(T0) == 3
        consumer.seek_to_beginning([T0])
        assert [record.offset for record in await read(consumer, 3)] == [0, 1, 2]
        assert consumer.lag(T0) == 0


@pytest.mark.parametrize(
    ("reset", "first"), [("earliest", 0), ("latest", 3), ("by_duration:PT15S", 2)]
)
def test_first_position_is_where_auto_offset_reset_says(reset, first):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t")
        for _ in range(3):
            await sim.kafka.produce("t", b"x")
            await trio.sleep(10.0)
        async with consumer_of(sim, auto_offset_reset=reset) as consumer:
            consumer.assign([T0])
            assert await consumer.position(T0) == first

    run()


@simulate(seeds=1)
async def test_without_a_reset_the_user_hears_of_missing_offsets_and_may_seek(sim):
    await sim.kafka.create_topic("t")
    await sim.kafka.produce("t", b"a", b"b")
    await sim.kafka.delete_records("t", before=1)

    async with consumer_of(sim, auto_offset_reset="none") as consumer:
        consumer.assign([T0])
        with pytest.raises(NoOffsetError):
            await consumer.poll(10.0)
        consumer.seek(T0, 0)
        with pytest.raises(OffsetOutOfRangeError, match="offset 0 is not in the log"):
            await consumer.poll(10.0)
        consumer.seek(T0, 1)
        assert [record.value for record in await read(consumer, 1)] == [b"b"]


@simulate(seeds=1)
async def test_paused_partition_gives_nothing_until_it_is_resumed(sim):
    await sim.kafka.create_topic("t", 2)
    await sim.kafka.produce("t", *[b"x" for _ in range(50)])

    async with consumer_of(sim) as consumer:
        consumer.assign([T0, T1])
        consumer.pause(T0)
        seen = []
        while records := await consumer.poll(2.0):
            seen += records
        assert {record.partition for record in seen} == {1}
        consumer.resume(T0)
        assert len(seen) + len(await read(consumer, 50 - len(seen))) == 50


@simulate(seeds=1)
async def test_position_after_an_iteration_that_stops_is_behind_the_last_record(sim):
    await sim.kafka.create_topic("t")
    await sim.kafka.produce("t", *[b"%d" % n for n in range(10)])

    async with consumer_of(sim, group_id="g") as consumer:
        consumer.assign([T0])
        async for record in consumer:
            if record.offset == 4:
                break
        await consumer.commit()
        committed = await consumer.committed([T0])
        assert committed[T0].offset == 5
        assert [record.offset for record in await read(consumer, 5)] == [5, 6, 7, 8, 9]


@simulate(seeds=1)
async def test_batches_are_decoded_on_demand(sim):
    await sim.kafka.create_topic("t")
    await sim.kafka.produce("t", *[b"%d" % n for n in range(10)])

    async with consumer_of(sim) as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 3)
        async for batch in consumer.batches():
            values = [record.value for record in batch.records()]
            break
        assert values == [b"%d" % n for n in range(3, 10)]
        assert (batch.first_offset, batch.next_offset) == (3, 10)
        assert await consumer.position(T0) == 10


@simulate(seeds=1)
async def test_record_that_cannot_be_deserialized_stays_at_the_position(sim):
    await sim.kafka.create_topic("t")
    await sim.kafka.produce("t", b"1", b"x", b"3")
    config = {"bootstrap.servers": str(sim.lives.address), "auto.offset.reset": "earliest"}

    def number(topic, data):
        return int(data)

    async with open_consumer(
        config, key_deserializer=as_bytes, value_deserializer=number, world=sim.clients
    ) as consumer:
        consumer.assign([T0])
        assert [record.value for record in await consumer.poll(10.0)] == [1]
        for _ in range(2):
            with pytest.raises(SerializationError, match="offset 1"):
                await consumer.poll(10.0)
        consumer.seek(T0, 2)
        assert [record.value for record in await consumer.poll(10.0)] == [3]


@simulate(seeds=1)
async def test_second_task_that_reads_is_an_error(sim):
    await sim.kafka.create_topic("t")

    async with consumer_of(sim) as consumer, trio.open_nursery() as nursery:
        consumer.assign([T0])
        nursery.start_soon(consumer.poll, 5.0)
        await trio.sleep(1.0)
        with pytest.raises(RuntimeError, match="another task reads"):
            await consumer.poll(1.0)
