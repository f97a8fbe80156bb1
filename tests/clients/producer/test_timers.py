"""Every timer of the producer, by its setting, in virtual time.

Each row of the table sets one timer and does what it is about; the time that passes is the timer's.
"""

from itertools import pairwise

import pytest
import trio

from tests.clients.producer.kit import producer_of, record
from trio_kafka.clients.errors import (
    AbortableError,
    BufferExhaustedError,
    FatalError,
    TimedOutError,
)
from trio_kafka.controls.faults import FaultRule
from trio_kafka.errors import ErrorCode
from trio_kafka.testing.simulate import simulate


async def linger(sim, producer):
    await (await producer.send(record(b"x")))


async def timed_out_in_the_queue(sim, producer):
    """The request before it is in flight, and the connection takes no other one."""
    with sim.kafka.controls.faults.add(FaultRule(api="Produce", hold=True)):
        first = await producer.send(record(b"in flight"))
        queued = await producer.send(record(b"queued"))
        with pytest.raises(TimedOutError) as caught:
            await queued
        assert not caught.value.sent
        assert first.may_be_stored


async def timed_out_in_flight(sim, producer):
    with sim.kafka.controls.faults.add(FaultRule(api="Produce", hold=True)):
        receipt = await producer.send(record(b"x"))
        with pytest.raises(TimedOutError) as caught:
            await receipt
        assert caught.value.sent


async def timed_out_in_retry(sim, producer):
    """The broker refuses each attempt, so that the record is surely not stored."""
    rule = FaultRule(api="Produce", error=ErrorCode.NOT_ENOUGH_REPLICAS)
    with sim.kafka.controls.faults.add(rule):
        receipt = await producer.send(record(b"x"))
        with pytest.raises(TimedOutError) as caught:
            await receipt
        assert not caught.value.sent


async def request_without_an_answer(sim, producer):
    with sim.kafka.controls.faults.add(FaultRule(api="Produce", drop=True, times=1)):
        await (await producer.send(record(b"x")))


async def no_metadata(sim, producer):
    with (
        sim.kafka.controls.faults.add(FaultRule(api="Metadata", hold=True)),
        pytest.raises(TimedOutError, match="no metadata within 3 s"),
    ):
        await producer.send(record(b"x", topic="another"))


async def no_memory(sim, producer):
    with sim.kafka.controls.faults.add(FaultRule(api="Produce", hold=True)) as held:
        await producer.send(record(bytes(1500)))
        with pytest.raises(BufferExhaustedError):
            await producer.send(record(bytes(1500)))
        held.release()


async def memory_after_metadata(sim, producer):
    """One deadline is for both waits."""
    await sim.kafka.create_topic("another")
    with (
        sim.kafka.controls.faults.add(FaultRule(api="Produce", hold=True)) as held,
        sim.kafka.controls.faults.add(FaultRule(api="Metadata", delay_s=2.0, times=1)),
    ):
        await producer.send(record(bytes(1500)))
        with pytest.raises(BufferExhaustedError):
            await producer.send(record(bytes(1500), topic="another"))
        held.release()


async def metadata_of_age(sim, producer):
    with sim.kafka.controls.faults.add(FaultRule(api="Metadata", observe=True)) as rule:
        await rule.wait(1)


async def idle_connection(sim, producer):
    while producer.client.links[1].is_connected:
        await trio.sleep(0.05)


LONG = {"delivery_timeout_ms": 60_000, "request_timeout_ms": 30_000}
DELIVERY = {"delivery_timeout_ms": 4000, "request_timeout_ms": 3900}
# Name, settings, what is done, seconds at least and at most.
TIMERS = [
    ("linger.ms", {"linger_ms": 700}, linger, 0.7, 0.8),
    ("delivery.timeout.ms, in flight", DELIVERY, timed_out_in_flight, 4.0, 4.01),
    (
        "delivery.timeout.ms, queued",
        {**DELIVERY, "batch_size": 0, "max_in_flight_requests_per_connection": 1},
        timed_out_in_the_queue,
        4.0,
        4.01,
    ),
    (
        "delivery.timeout.ms, in retry",
        {**DELIVERY, "retry_backoff_ms": 1000, "retry_backoff_max_ms": 60_000},
        timed_out_in_retry,
        4.0,
        4.01,
    ),
    ("request.timeout.ms", {"request_timeout_ms": 2000}, request_without_an_answer, 2.0, 2.5),
    ("max.block.ms, metadata", {"max_block_ms": 3000}, no_metadata, 3.0, 3.01),
    (
        "max.block.ms, memory",
        {**LONG, "max_block_ms": 3000, "buffer_memory": 2000},
        no_memory,
        3.0,
        3.01,
    ),
    (
        "max.block.ms, metadata and then memory",
        {**LONG, "max_block_ms": 3000, "buffer_memory": 2000},
        memory_after_metadata,
        3.0,
        3.2,
    ),
    ("metadata.max.age.ms", {"metadata_max_age_ms": 7000}, metadata_of_age, 6.5, 7.1),
    (
        "connections.max.idle.ms",
        {"connections_max_idle_ms": 5000, "metadata_max_age_ms": 600_000},
        idle_connection,
        4.9,
        5.1,
    ),
]


@pytest.mark.parametrize(
    ("settings", "wait", "least_s", "most_s"),
    [timer[1:] for timer in TIMERS],
    ids=[timer[0] for timer in TIMERS],
)
@simulate(seeds=1)
async def test_timer_takes_the_time_of_its_setting(sim, settings, wait, least_s, most_s):
    await sim.kafka.create_topic("t")
    async with producer_of(sim, **settings) as producer:
        await (await producer.send(record(b"first")))
        start = trio.current_time()
        await wait(sim, producer)
        assert least_s <= trio.current_time() - start <= most_s


@simulate(seeds=2)
async def test_pauses_before_retries_double_up_to_their_limit_and_vary_by_a_fifth(sim):
    await sim.kafka.create_topic("t")
    expected = [0.5, 1.0, 2.0, 4.0, 4.0, 4.0]
    times = []
    rule = FaultRule(api="Produce", error=ErrorCode.NOT_ENOUGH_REPLICAS, times=7)
    async with producer_of(sim, retry_backoff_ms=500, retry_backoff_max_ms=4000) as producer:
        await (await producer.send(record(b"first")))
        with sim.kafka.controls.faults.add(rule) as fault:
            receipt = await producer.send(record(b"x"))
            for number in range(1, 8):
                await fault.wait(number)
                times.append(trio.current_time())
            await receipt
    pauses = [after - before for before, after in pairwise(times)]
    parts = [pause / full for pause, full in zip(pauses, expected, strict=True)]

    assert all(0.8 <= part < 1.21 for part in parts)
    assert max(parts) - min(parts) > 0.02


@simulate(seeds=1)
async def test_broker_aborts_a_transaction_that_is_open_for_longer_than_its_timeout(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim, transactional_id="x", transaction_timeout_ms=15_000) as producer:
        with pytest.raises(FatalError, match="INVALID_TXN_STATE"):
            async with producer.transaction():
                await (await producer.send(record(b"out")))
                start = trio.current_time()
                while (await sim.kafka.transactions())[0].state == "Ongoing":
                    await trio.sleep(0.5)
                assert 15.0 <= trio.current_time() - start <= 26.0  # looked for every 10 s

    log = await sim.log("t", committed=True)
    assert not any(log.values())


@simulate(seeds=1)
@pytest.mark.parametrize("goes_on", ["sends", "aborts"])
async def test_producer_whose_transaction_the_broker_has_aborted_can_begin_another(sim, goes_on):
    """Only its commit is fatal, as in Kafka's client: a record or an abort may be too late."""
    await sim.kafka.create_topic("t")
    async with producer_of(sim, transactional_id="x", transaction_timeout_ms=15_000) as producer:
        with pytest.raises(AbortableError if goes_on == "sends" else LookupError):
            async with producer.transaction():
                await (await producer.send(record(b"out")))
                while (await sim.kafka.transactions())[0].state != "CompleteAbort":
                    await trio.sleep(0.5)
                if goes_on == "aborts":
                    raise LookupError
                await producer.send(record(b"out too"))
        async with producer.transaction():
            await producer.send(record(b"in"))

    assert [
        row.value for rows in (await sim.log("t", committed=True)).values() for row in rows.values()
    ] == [b"in"]
