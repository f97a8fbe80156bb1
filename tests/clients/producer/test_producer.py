"""The producer against the broker, in one loop and virtual time."""

import pytest
import trio

from tests.clients.producer.kit import producer_of, record
from trio_kafka.clients.errors import (
    AuthorizationError,
    BufferExhaustedError,
    ClosedError,
    RecordTooLargeError,
    TimedOutError,
    TopicError,
)
from trio_kafka.controls.faults import FaultRule
from trio_kafka.errors import ErrorCode
from trio_kafka.testing.simulate import simulate


@simulate(seeds=2)
async def test_record_is_stored_and_its_receipt_says_where(sim):
    await sim.kafka.create_topic("t", 2)

    async with producer_of(sim) as producer:
        receipts = [await producer.send(record(b"a", partition=1)) for _ in range(3)]
        places = [await receipt for receipt in receipts]

    assert [(p.topic, p.partition, p.offset) for p in places] == [("t", 1, n) for n in range(3)]
    assert await sim.values("t") == [b"a"] * 3


@simulate(seeds=1)
async def test_end_of_the_block_waits_for_records_without_receipts(sim):
    await sim.kafka.create_topic("t")

    async with producer_of(sim, linger_ms=60_000) as producer:
        for number in range(10):
            await producer.send(record(b"%d" % number))

    assert await sim.values("t") == [b"%d" % number for number in range(10)]


@simulate(seeds=1)
async def test_keys_headers_and_timestamps_are_stored(sim):
    await sim.kafka.create_topic("t", 3)

    async with producer_of(sim) as producer:
        sent = record(b"v", key=b"k", timestamp_ms=1_699_999_999_999, headers=[("h", b"1")])
        place = await (await producer.send(sent))

    (stored,) = await sim.kafka.records("t")
    assert (stored.key, stored.value, stored.timestamp_ms) == (b"k", b"v", 1_699_999_999_999)
    assert list(stored.headers) == [("h", b"1")]
    assert place.timestamp_ms == 1_699_999_999_999


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
@simulate(seeds=1)
async def test_compressed_batches_are_read_by_other_clients(sim, codec):
    await sim.kafka.create_topic("t")
    values = [b"%d" % number * 50 for number in range(200)]

    async with producer_of(sim, compression_type=codec, linger_ms=100) as producer:
        for value in values:
            await producer.send(record(value))

    assert await sim.values("t") == values


@simulate(seeds=1)
async def test_records_wait_for_linger_and_go_together(sim):
    await sim.kafka.create_topic("t")
    sim.kafka.controls.recorder.start()

    async with producer_of(sim, linger_ms=1000) as producer:
        start = trio.current_time()
        receipts = []
        for _ in range(5):
            receipts.append(await producer.send(record(b"x", partition=0)))
            await trio.sleep(0.1)
        await receipts[-1]

        assert trio.current_time() - start == pytest.approx(1.0, abs=0.1)
    assert len(sim.kafka.controls.recorder.requests("Produce")) == 1


@simulate(seeds=1)
async def test_full_batch_does_not_wait_for_linger(sim):
    await sim.kafka.create_topic("t")

    async with producer_of(sim, linger_ms=60_000, batch_size=1000) as producer:
        start = trio.current_time()
        receipts = [await producer.send(record(bytes(400), partition=0)) for _ in range(3)]
        await receipts[0]

        assert trio.current_time() - start < 1
        assert not receipts[2].is_done
        await producer.flush()
        assert receipts[2].is_done


@simulate(seeds=1)
async def test_topic_that_does_not_exist_is_an_error_after_max_block(sim):
    async with producer_of(sim, max_block_ms=5000) as producer:
        start = trio.current_time()
        with pytest.raises(TopicError, match="t: UNKNOWN_TOPIC_OR_PARTITION: the topic does not"):
            await producer.send(record(b"x"))

        assert trio.current_time() - start == pytest.approx(5.0, abs=0.01)
        await sim.kafka.create_topic("t")
        await (await producer.send(record(b"x")))


@simulate(seeds=1)
async def test_wrong_name_of_a_topic_is_an_error_at_once(sim):
    async with producer_of(sim) as producer:
        with pytest.raises(TopicError, match="INVALID_TOPIC_EXCEPTION"):
            await producer.send(record(b"x", topic="a b"))
        assert trio.current_time() < 5


@simulate(seeds=1)
async def test_partition_that_the_topic_lacks_is_an_error_after_max_block(sim):
    await sim.kafka.create_topic("t", 2)

    async with producer_of(sim, max_block_ms=3000) as producer:
        with pytest.raises(TimedOutError, match="t-7: the topic has 2 partitions"):
            await producer.send(record(b"x", partition=7))


@simulate(seeds=1)
async def test_broker_that_is_down_is_an_error_with_the_reason_after_max_block(sim):
    await sim.kafka.stop()

    async with producer_of(sim, max_block_ms=3000) as producer:
        with pytest.raises(TimedOutError, match=r"no metadata within 3 s; the last failure: at br"):
            await producer.send(record(b"x"))


@simulate(seeds=1)
async def test_record_above_the_request_size_is_an_error_before_it_is_queued(sim):
    async with producer_of(sim, max_request_size=1000) as producer:
        with pytest.raises(RecordTooLargeError, match=r"max\.request\.size allows 1000") as caught:
            await producer.send(record(bytes(1000)))
    assert not caught.value.sent


@simulate(seeds=1)
async def test_memory_is_waited_for_and_its_lack_is_an_error_after_max_block(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(
        sim, buffer_memory=2000, max_block_ms=1000, request_timeout_ms=60_000
    ) as producer:
        await (await producer.send(record(b"first")))
        sim.universe.cut("kafka", "clients")
        await producer.send(record(bytes(1500)))
        with trio.move_on_after(0.5) as scope:
            await producer.send(record(bytes(1500)))
        assert scope.cancelled_caught
        with pytest.raises(BufferExhaustedError, match=r"were not free within max\.block\.ms"):
            await producer.send(record(bytes(1500)))
        sim.universe.heal("kafka", "clients")
        await producer.send(record(bytes(1500)))

    assert len(await sim.values("t")) == 3


@simulate(seeds=1)
async def test_record_that_the_broker_rejects_is_an_error_that_names_the_place(sim):
    await sim.kafka.create_topic("t", configs={"max.message.bytes": "500"})

    async with producer_of(sim) as producer:
        receipt = await producer.send(record(bytes(600), partition=0))
        with pytest.raises(
            RecordTooLargeError, match=r"t-0 at broker 1 .*: MESSAGE_TOO_LARGE"
        ) as e:
            await receipt
        assert not e.value.sent
        assert not receipt.may_be_stored
        await (await producer.send(record(b"small")))


@simulate(seeds=1)
async def test_batch_that_is_too_large_is_split_until_its_records_fit(sim):
    await sim.kafka.create_topic("t", configs={"max.message.bytes": "500"})
    values = [b"%02d" % number * 50 for number in range(20)]

    async with producer_of(sim, linger_ms=100) as producer:
        receipts = [await producer.send(record(value)) for value in values]
        places = [await receipt for receipt in receipts]

    assert [place.offset for place in places] == list(range(20))
    assert await sim.values("t") == values


@simulate(seeds=1)
async def test_acks_0_sends_without_an_answer_and_knows_no_offset(sim):
    await sim.kafka.create_topic("t")

    async with producer_of(sim, acks=0) as producer:
        place = await (await producer.send(record(b"x")))
        assert place.offset == -1
        await trio.sleep(1)

    assert await sim.values("t") == [b"x"]


@simulate(seeds=1)
async def test_closed_producer_takes_no_records(sim):
    async with producer_of(sim) as producer:
        pass

    with pytest.raises(ClosedError, match="the producer is closed"):
        await producer.send(record(b"x"))
    with pytest.raises(ClosedError):
        producer.send_nowait(record(b"x"))


@simulate(seeds=1)
async def test_send_nowait_needs_metadata_and_memory(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim, buffer_memory=2000) as producer:
        with pytest.raises(trio.WouldBlock):
            producer.send_nowait(record(b"x"))
        await producer.partitions("t")
        receipt = producer.send_nowait(record(bytes(1500)))
        with pytest.raises(trio.WouldBlock):
            producer.send_nowait(record(bytes(1500)))
        with pytest.raises(trio.WouldBlock):
            receipt.result()
        assert (await receipt).offset == 0
        assert receipt.result().offset == 0


@simulate(seeds=2)
async def test_producer_survives_a_restart_of_its_broker_without_loss_or_double(sim):
    await sim.kafka.create_topic("t")
    values = [b"%d" % number for number in range(60)]

    async with producer_of(sim, linger_ms=0) as producer:
        for number, value in enumerate(values):
            await producer.send(record(value))
            await trio.sleep(0.05)
            if number == 20:
                await sim.kafka.restart()
            if number == 40:
                await sim.kafka.kill()
                await sim.kafka.start()

    assert await sim.values("t") == values


@simulate(seeds=2)
async def test_batch_whose_answer_is_lost_is_stored_once(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim, request_timeout_ms=1000) as producer:
        await (await producer.send(record(b"first")))
        sim.universe.cut("kafka", "clients", one_way=True)
        receipt = await producer.send(record(b"second"))
        await trio.sleep(3)
        assert receipt.may_be_stored
        sim.universe.heal("kafka", "clients")
        assert (await receipt).offset in {1, -1}

    assert await sim.values("t") == [b"first", b"second"]


@simulate(seeds=1)
async def test_delivery_timeout_fails_a_record_in_flight_as_one_that_may_be_stored(sim):
    await sim.kafka.create_topic("t")
    settings = {"request_timeout_ms": 1000, "delivery_timeout_ms": 2500}
    async with producer_of(sim, **settings) as producer:
        await (await producer.send(record(b"first")))
        sim.universe.cut("kafka", "clients", one_way=True)
        start = trio.current_time()
        receipt = await producer.send(record(b"second"))
        with pytest.raises(TimedOutError, match=r"t-0: not acknowledged within 2.5 s") as caught:
            await receipt
        assert caught.value.sent
        assert trio.current_time() - start == pytest.approx(2.5, abs=0.01)
        sim.universe.heal("kafka", "clients")
        await (await producer.send(record(b"third")))

    assert await sim.values("t") == [b"first", b"second", b"third"]


@simulate(seeds=1)
async def test_delivery_timeout_fails_a_record_that_was_never_sent_as_unsent(sim):
    await sim.kafka.create_topic("t")
    settings = {"request_timeout_ms": 1000, "delivery_timeout_ms": 2500}
    async with producer_of(sim, **settings) as producer:
        await (await producer.send(record(b"first")))
        await sim.kafka.stop()
        receipt = await producer.send(record(b"second"))
        with pytest.raises(TimedOutError) as caught:
            await receipt
        assert not caught.value.sent
        await sim.kafka.start()

    assert await sim.values("t") == [b"first"]


@simulate(seeds=1)
async def test_cancelled_block_fails_records_and_says_which_were_sent(sim):
    await sim.kafka.create_topic("t")
    receipts = []
    with trio.move_on_after(20.0) as scope:
        async with producer_of(sim) as producer:
            await (await producer.send(record(b"first")))
            sim.universe.cut("kafka", "clients", one_way=True)
            receipts.append(await producer.send(record(b"in flight")))
            await trio.sleep(1)
            receipts.append(await producer.send(record(b"queued")))
            scope.cancel()
            await producer.flush()
    sim.universe.heal("kafka", "clients")

    outcomes = []
    for receipt in receipts:
        with pytest.raises(ClosedError) as caught:
            receipt.result()
        outcomes.append(caught.value.sent)
    assert outcomes == [True, False]
    assert await sim.values("t") == [b"first", b"in flight"]


@simulate(seeds=1)
async def test_exception_of_the_block_is_raised_and_fails_the_records_at_once(sim):
    await sim.kafka.create_topic("t")
    with pytest.raises(LookupError, match="mine"):
        async with producer_of(sim, linger_ms=60_000) as producer:
            receipt = await producer.send(record(b"x"))
            raise LookupError("mine")

    with pytest.raises(ClosedError) as caught:
        await receipt
    assert not caught.value.sent
    assert await sim.values("t") == []


@simulate(seeds=1)
async def test_serialized_objects_and_a_partitioner_of_the_user(sim):
    await sim.kafka.create_topic("t", 3)

    def second(topic, key, value, count):
        return 1

    def text(value: str) -> bytes:
        return value.encode()

    async with producer_of(
        sim, key_serializer=text, value_serializer=text, partitioner=second
    ) as producer:
        place = await (await producer.send(record("é", key="k")))

    assert place.partition == 1
    assert await sim.values("t") == ["é".encode()]


@simulate(seeds=1)
async def test_denied_topic_is_an_authorization_error_at_once(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim) as producer:
        await (await producer.send(record(b"first")))
        rule = FaultRule(api="Produce", error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=1)
        with sim.kafka.controls.faults.add(rule):
            receipt = await producer.send(record(b"x"))
            with pytest.raises(AuthorizationError, match="t-0 at broker 1"):
                await receipt
        await (await producer.send(record(b"third")))

    assert await sim.values("t") == [b"first", b"third"]


@simulate(seeds=1)
async def test_cancelled_send_has_queued_nothing_at_each_of_its_waits(sim):
    """Waits: at the beginning, for metadata, for a partition, for memory."""
    await sim.kafka.create_topic("t")
    async with producer_of(sim, buffer_memory=1000) as producer:

        async def cancelled(sent, *, after_s: float) -> None:
            with trio.move_on_after(after_s) as scope:
                await producer.send(sent)
            assert scope.cancelled_caught

        await cancelled(record(b"at the beginning"), after_s=0)
        sim.universe.cut("kafka", "clients")
        await cancelled(record(b"metadata"), after_s=1)
        sim.universe.heal("kafka", "clients")
        await (await producer.send(record(b"first")))
        await cancelled(record(b"partition", partition=5), after_s=1)
        sim.universe.cut("kafka", "clients")
        receipt = await producer.send(record(bytes(800)))
        await cancelled(record(bytes(800)), after_s=1)
        assert producer.accumulator.pool.waiting == 0
        sim.universe.heal("kafka", "clients")
        await receipt

        assert producer.accumulator.pool.free == 1000
    assert await sim.values("t") == [b"first", bytes(800)]


@simulate(seeds=1)
async def test_memory_that_is_granted_to_a_cancelled_send_goes_to_the_next_one(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim, buffer_memory=1000) as producer:
        await (await producer.send(record(b"first")))
        with sim.kafka.controls.faults.add(FaultRule(api="Produce", hold=True)) as fault:
            await producer.send(record(bytes(800)))
            async with trio.open_nursery() as nursery:
                scope = trio.CancelScope()

                async def send_in_scope() -> None:
                    with scope:
                        await producer.send(record(bytes(800)))

                nursery.start_soon(send_in_scope)
                await trio.sleep(1)
                # Both at once: the memory is granted, and the wait for it is cancelled.
                producer.accumulator.pool.total += 1000
                producer.accumulator.pool.give_back(1000)
                scope.cancel()
            producer.accumulator.pool.total -= 1000
            producer.accumulator.pool.free -= 1000
            fault.release()
        await producer.flush()
        assert producer.accumulator.pool.free == 1000
