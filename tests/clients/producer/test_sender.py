"""The sender against a broker with faults, in virtual time."""

from itertools import pairwise

import pytest
import trio

from tests.clients.producer.kit import producer_of, record
from trio_kafka.clients.errors import ClientError, OutOfOrderSequenceError, TimedOutError
from trio_kafka.controls.faults import FaultRule
from trio_kafka.errors import ErrorCode
from trio_kafka.testing.simulate import simulate
from trio_kafka.world.simulated.faults import CallFault


def produces(sim):
    return len(sim.kafka.controls.recorder.requests("Produce"))


@simulate(seeds=2)
async def test_requests_are_in_flight_together_and_no_more_than_the_limit(sim):
    await sim.kafka.create_topic("t")
    settings = {"batch_size": 0, "max_in_flight_requests_per_connection": 3}
    async with producer_of(sim, **settings) as producer:
        await (await producer.send(record(b"first")))
        with sim.kafka.controls.faults.add(FaultRule(api="Produce", hold=True)) as fault:
            receipts = [await producer.send(record(b"%d" % number)) for number in range(6)]
            await trio.sleep(1)
            link = producer.client.links[1]
            assert link.in_flight == 3
            fault.release()
        offsets = [(await receipt).offset for receipt in receipts]

    assert offsets == list(range(1, 7))


@simulate(seeds=2)
async def test_order_is_kept_without_idempotence_if_one_request_is_in_flight(sim):
    await sim.kafka.create_topic("t")
    settings = {
        "batch_size": 0,
        "max_in_flight_requests_per_connection": 1,
        "enable_idempotence": False,
    }
    rule = FaultRule(api="Produce", error=ErrorCode.NOT_LEADER_OR_FOLLOWER, probability=0.3, seed=1)
    with sim.kafka.controls.faults.add(rule):
        async with producer_of(sim, **settings) as producer:
            for number in range(30):
                await producer.send(record(b"%02d" % number))

    assert await sim.values("t") == [b"%02d" % number for number in range(30)]


@simulate(seeds=4)
async def test_order_is_kept_with_five_requests_in_flight_under_errors(sim):
    await sim.kafka.create_topic("t")
    faults = sim.kafka.controls.faults
    codes = (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
    )
    rules = [
        FaultRule(api="Produce", error=code, probability=0.15, seed=number)
        for number, code in enumerate(codes)
    ]
    for rule in rules:
        faults.add(rule)
    faults.add(FaultRule(api="Produce", disconnect="after", probability=0.05, seed=7))
    faults.add(FaultRule(api="Produce", disconnect="before", probability=0.05, seed=8))
    async with producer_of(sim, batch_size=0, linger_ms=0) as producer:
        receipts = []
        for number in range(60):
            receipts.append(await producer.send(record(b"%02d" % number)))
            await trio.sleep(0.01)
        await producer.flush()
    faults.clear()

    for receipt in receipts:
        assert receipt.result().offset in {-1, *range(60)}
    assert await sim.values("t") == [b"%02d" % number for number in range(60)]


@simulate(seeds=1)
async def test_retries_have_a_limit_if_the_user_sets_one(sim):
    await sim.kafka.create_topic("t")
    rule = FaultRule(api="Produce", error=ErrorCode.NOT_ENOUGH_REPLICAS)
    sim.kafka.controls.recorder.start()
    with sim.kafka.controls.faults.add(rule):
        async with producer_of(sim, retries=2) as producer:
            receipt = await producer.send(record(b"x"))
            with pytest.raises(ClientError, match=r"t-0 at broker 1 .*NOT_ENOUGH") as caught:
                await receipt
    assert produces(sim) == 3
    assert not caught.value.sent


@simulate(seeds=1)
async def test_pauses_between_retries_grow(sim):
    await sim.kafka.create_topic("t")
    times = []
    rule = FaultRule(api="Produce", error=ErrorCode.NOT_ENOUGH_REPLICAS, times=5)
    async with producer_of(sim, retry_backoff_ms=1000, retry_backoff_max_ms=4000) as producer:
        with sim.kafka.controls.faults.add(rule) as fault:
            receipt = await producer.send(record(b"x"))
            for number in range(1, 6):
                await fault.wait(number)
                times.append(trio.current_time())
            await receipt
    pauses = [after - before for before, after in pairwise(times)]

    for pause, expected in zip(pauses, [1, 2, 4, 4], strict=True):
        assert 0.79 * expected < pause < 1.25 * expected


@simulate(seeds=1)
async def test_late_answer_is_noticed_after_the_request_timeout(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim, request_timeout_ms=2000) as producer:
        await (await producer.send(record(b"first")))
        with sim.kafka.controls.faults.add(FaultRule(api="Produce", drop=True, times=1)):
            start = trio.current_time()
            receipt = await producer.send(record(b"second"))
            await receipt
        assert 2.0 < trio.current_time() - start < 3.0

    assert await sim.values("t") == [b"first", b"second"]


@simulate(seeds=1)
async def test_damaged_answer_is_retried_and_stored_once(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim) as producer:
        await (await producer.send(record(b"first")))
        with sim.kafka.controls.faults.add(FaultRule(api="Produce", corrupt="response", times=1)):
            await (await producer.send(record(b"second")))

    assert await sim.values("t") == [b"first", b"second"]


@simulate(seeds=1)
async def test_failed_call_of_the_socket_is_retried(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim) as producer:
        await (await producer.send(record(b"first")))
        sim.universe.faults.add(
            CallFault(machine="clients", call="send", error="ECONNRESET", times=1)
        )
        start = trio.current_time()
        await (await producer.send(record(b"second")))
        assert trio.current_time() - start < 2

    assert await sim.values("t") == [b"first", b"second"]


@simulate(seeds=1)
async def test_topic_that_is_created_again_is_found(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim) as producer:
        await (await producer.send(record(b"old")))
        await sim.kafka.delete_topic("t")
        await sim.kafka.create_topic("t")
        await (await producer.send(record(b"new")))

    assert await sim.values("t") == [b"new"]


@simulate(seeds=1)
async def test_stopped_peer_bounds_the_memory_of_the_producer(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(
        sim, buffer_memory=100_000, max_block_ms=1000, request_timeout_ms=2000
    ) as producer:
        await (await producer.send(record(b"first")))
        sim.universe.cut("kafka", "clients")
        sent = 1
        with pytest.raises(TimedOutError):
            for _ in range(200):
                await producer.send(record(bytes(5000)))
                sent += 1
        assert 15 < sent < 25
        sim.universe.heal("kafka", "clients")
        await producer.flush()

    assert len(await sim.values("t")) == sent


@simulate(seeds=3)
async def test_acknowledged_records_survive_chaos_once_and_in_order(sim):
    """Kills, cut links and resets; the checkers hold the log against the history."""
    await sim.kafka.create_topic("t", 2)
    name = "ours"
    history = sim.history
    receipts = []
    async with producer_of(
        sim, request_timeout_ms=1500, linger_ms=20, delivery_timeout_ms=60_000
    ) as producer:
        async with sim.chaos(links=True, crashes=True, within_s=8.0):
            for number in range(150):
                partition, value = number % 2, b"%03d" % number
                history.sent(name, "t", value, partition=partition, idempotent=True)
                receipts.append((value, await producer.send(record(value, partition=partition))))
                await trio.sleep(0.07)
        await producer.flush()
    stored = 0
    for value, receipt in receipts:
        try:
            place = receipt.result()
        except OutOfOrderSequenceError as error:
            # A broker that was restarted knows the latest batch alone, as Kafka's does.
            unknown = error
            assert unknown.sent
            continue
        stored += 1
        history.acknowledged(name, "t", place.partition, value, offset=place.offset)
    assert stored > 120

    log = await sim.check()
    for rows in log.values():
        values = [row.value for row in rows.values()]
        assert values == sorted(values)


@simulate(seeds=1)
async def test_throttled_producer_waits_as_long_as_the_broker_says_and_no_longer(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim) as producer:
        with sim.kafka.controls.faults.add(FaultRule(api="Produce", throttle_s=3.0, times=1)):
            await (await producer.send(record(b"first")))
        start = trio.current_time()
        await (await producer.send(record(b"second")))

        assert trio.current_time() - start == pytest.approx(3.0, abs=0.2)
