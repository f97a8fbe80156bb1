"""Many records in one call, beside records one by one."""

import pytest
import trio

from tests.clients.producer.kit import producer_of, record
from tests.clients.producer.test_interceptors import Witness, producer
from trio_kafka.clients.errors import (
    BufferExhaustedError,
    ClosedError,
    RecordTooLargeError,
    SerializationError,
    TimedOutError,
)
from trio_kafka.clients.producer.bulk_receipt import BulkReceipt
from trio_kafka.records.partitioner import partition_of
from trio_kafka.testing.simulate import simulate

MANY = [b"%05d" % number for number in range(3000)]  # two portions


@simulate(seeds=2)
async def test_values_are_stored_in_order_and_the_receipt_says_where(sim):
    await sim.kafka.create_topic("t", 2)

    async with producer_of(sim, batch_size=1000) as client:
        receipt = await client.send_many("t", MANY, partition=1)
        places = await receipt

    assert await sim.values("t") == MANY
    assert receipt.count == len(MANY)
    offsets = [place.base_offset + n for place in places for n, _ in enumerate(place.positions)]
    assert offsets == [position for place in places for position in place.positions]
    assert {(place.topic, place.partition) for place in places} == {("t", 1)}


@simulate(seeds=1)
async def test_keys_choose_the_partitions_that_single_records_get(sim):
    await sim.kafka.create_topic("t", 3)
    keys = [b"%d" % (number % 50) for number in range(len(MANY))]

    async with producer_of(sim) as client:
        places = await (await client.send_many("t", MANY, keys, timestamp_ms=1_699_999_999_999))

    stored = await sim.kafka.records("t")
    assert {r.timestamp_ms for r in stored} == {1_699_999_999_999}
    for partition in range(3):
        numbers = [n for n, key in enumerate(keys) if partition_of(key, 3) == partition]
        rows = [(r.key, r.value) for r in stored if r.partition == partition]
        assert rows == [(keys[n], MANY[n]) for n in numbers]
        assert [p for row in places if row.partition == partition for p in row.positions] == numbers


@simulate(seeds=2)
async def test_values_without_keys_are_spread_over_partitions_by_whole_batches(sim):
    await sim.kafka.create_topic("t", 3)

    async with producer_of(sim, batch_size=500) as client:
        places = await (await client.send_many("t", MANY))

    assert sorted(await sim.values("t")) == MANY
    assert {place.partition for place in places} == {0, 1, 2}
    assert len(places) < 200


@simulate(seeds=1)
async def test_small_calls_and_single_records_share_batches_in_their_order(sim):
    await sim.kafka.create_topic("t")
    sim.kafka.controls.recorder.start()

    async with producer_of(sim, linger_ms=1000) as client:
        await client.send_many("t", [b"1", None], [b"k", None], partition=0)
        await client.send(record(b"2", partition=0))
        await client.send_many("t", [b"3"], partition=0)
        await client.flush()

    assert await sim.values("t") == [b"1", None, b"2", b"3"]
    assert len(sim.kafka.controls.recorder.requests("Produce")) == 1


@simulate(seeds=1)
async def test_compressed_batches_hold_many_records(sim):
    await sim.kafka.create_topic("t")

    async with producer_of(sim, compression_type="lz4", linger_ms=100) as client:
        await client.send_many("t", MANY)

    assert await sim.values("t") == MANY


@simulate(seeds=1)
async def test_serializers_are_called_and_their_errors_name_the_record(sim):
    await sim.kafka.create_topic("t")
    serializers = {"key_serializer": str.encode, "value_serializer": lambda v: b"%d" % (10 // v)}

    async with producer_of(sim, **serializers) as client:
        receipt = BulkReceipt(first=100)
        await client.send_many("t", [5, None], ["a", "b"], receipt=receipt)
        with pytest.raises(SerializationError, match=r"ZeroDivisionError: .*; record 103"):
            await client.send_many("t", [1, 0], receipt=receipt)
        await receipt

    assert [(r.key, r.value) for r in await sim.kafka.records("t")] == [(b"a", b"2"), (b"b", None)]


@simulate(seeds=1)
async def test_value_that_is_no_bytes_is_an_error_that_names_it(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim) as client:
        with pytest.raises(SerializationError, match=r"a str: want bytes.*; record 1"):
            await client.send_many("t", [b"a", "b"])
        with pytest.raises(ValueError, match="1 keys for 2 values"):
            await client.send_many("t", [b"a", b"b"], [b"k"])
        buffer = bytearray(b"before")
        await client.send_many("t", [buffer])
        buffer[:] = b"after!"

    assert await sim.values("t") == [b"before"]


@simulate(seeds=1)
async def test_record_above_the_request_size_is_an_error_before_its_portion_is_queued(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim, max_request_size=1000) as client:
        with pytest.raises(RecordTooLargeError, match=r"max\.request\.size.* 1000; record 1"):
            await client.send_many("t", [b"a", bytes(1000)])

    assert await sim.values("t") == []


@simulate(seeds=1)
async def test_columns_of_arrow_are_sent_with_their_nulls(sim):
    arrow = pytest.importorskip("pyarrow")
    await sim.kafka.create_topic("t")
    values = arrow.array([*MANY, None], arrow.binary())
    keys = arrow.chunked_array([values[:10], values[10:]]).cast(arrow.large_binary())

    async with producer_of(sim) as client:
        await client.send_many("t", values, keys)

    stored = [(r.key, r.value) for r in await sim.kafka.records("t")]
    assert stored == [(value, value) for value in (*MANY, None)]


@simulate(seeds=1)
async def test_partitioner_of_the_user_chooses_each_partition(sim):
    await sim.kafka.create_topic("t", 2)

    async with producer_of(sim, partitioner=lambda topic, key, value, count: len(value) % 2) as c:
        await c.send_many("t", [b"a", b"bb", b"c"])

    assert {(r.partition, r.value) for r in await sim.kafka.records("t")} == {
        (1, b"a"),
        (0, b"bb"),
        (1, b"c"),
    }


@simulate(seeds=1)
async def test_interceptors_see_each_record(sim):
    await sim.kafka.create_topic("t")
    witness = Witness()

    async with producer(sim, witness) as client:
        receipt = await client.send_many("t", [b"a", b"b"], timestamp_ms=5)
        places = await receipt

    assert await sim.values("t") == [b"a!", b"b!"]
    assert witness.ends == [0, 1]
    assert [(place.base_offset, list(place.positions)) for place in places] == [(0, [0]), (1, [1])]


@simulate(seeds=1)
async def test_memory_is_waited_for_by_portions_and_given_back(sim):
    await sim.kafka.create_topic("t")
    values = [bytes(900)] * 20

    async with producer_of(sim, buffer_memory=5000, batch_size=2000) as client:
        receipt = await client.send_many("t", values)
        await receipt
        pool = client.accumulator.pool
        assert pool.free == pool.total

    assert await sim.values("t") == values


@simulate(seeds=1)
async def test_call_that_ends_early_has_queued_what_its_receipt_counts(sim):
    await sim.kafka.create_topic("t")
    values = [b"%04d" % number * 200 for number in range(20)]

    async with producer_of(sim, buffer_memory=5000, max_block_ms=1000) as client:
        await (await client.send(record(b"first")))
        sim.universe.cut("kafka", "clients")
        cancelled, late = BulkReceipt(), BulkReceipt()
        with trio.move_on_after(0.5) as scope:
            await client.send_many("t", values, receipt=cancelled)
        assert scope.cancelled_caught
        with pytest.raises(BufferExhaustedError, match=r"within max\.block\.ms"):
            await client.send_many("t", values, receipt=late)
        sim.universe.heal("kafka", "clients")

    assert cancelled.count == 6
    assert late.count == 0
    assert await sim.values("t") == [b"first", *values[:6]]


@simulate(seeds=1)
async def test_batches_that_are_too_large_are_split_until_they_fit(sim):
    await sim.kafka.create_topic("t", configs={"max.message.bytes": "500"})

    async with producer_of(sim, linger_ms=100) as client:
        receipt = await client.send_many("t", MANY[:200])
        places = await receipt

    assert await sim.values("t") == MANY[:200]
    assert len(places) > 2
    assert [p for place in places for p in place.positions] == list(range(200))


@simulate(seeds=1)
async def test_delivery_timeout_names_the_records_that_may_be_stored(sim):
    await sim.kafka.create_topic("t")
    settings = {"request_timeout_ms": 1000, "delivery_timeout_ms": 2500}
    async with producer_of(sim, **settings) as client:
        await (await client.send(record(b"first")))
        sim.universe.cut("kafka", "clients", one_way=True)
        receipt = await client.send_many("t", [b"a", b"b"])
        with pytest.raises(TimedOutError, match=r"t-0: not acknow.*; records 0 to 1$") as caught:
            await receipt
        assert caught.value.sent
        sim.universe.heal("kafka", "clients")

    assert await sim.values("t") == [b"first", b"a", b"b"]


@simulate(seeds=2)
async def test_transaction_commits_many_records_or_none(sim):
    await sim.kafka.create_topic("t", 2)
    async with producer_of(sim, transactional_id="x") as client:
        async with client.transaction():
            await client.send_many("t", MANY[:1500], MANY[:1500])
        with pytest.raises(LookupError):
            async with client.transaction():
                await client.send_many("t", MANY[1500:])
                raise LookupError
    with pytest.raises(ClosedError):
        await client.send_many("t", [b"late"])

    log = await sim.log("t", committed=True)
    committed = [row.value for rows in log.values() for row in rows.values()]
    assert sorted(committed) == MANY[:1500]
