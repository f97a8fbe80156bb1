"""The task that asks for producer ids."""

import pytest
import trio

from tests.clients.producer.kit import producer_of, record
from trio_kafka.clients.errors import FatalError
from trio_kafka.controls.faults import FaultRule
from trio_kafka.errors import ErrorCode
from trio_kafka.testing.simulate import simulate


@simulate(seeds=1)
async def test_id_is_asked_for_with_the_first_record_and_not_before(sim):
    await sim.kafka.create_topic("t")
    sim.kafka.controls.recorder.start()
    async with producer_of(sim) as producer:
        await producer.partitions("t")
        await trio.sleep(5)
        assert not sim.kafka.controls.recorder.requests("InitProducerId")
        await (await producer.send(record(b"x")))
        assert len(sim.kafka.controls.recorder.requests("InitProducerId")) == 1
        assert producer.accumulator.identities.current.epoch == 0


@simulate(seeds=1)
async def test_failures_that_may_pass_are_retried(sim):
    await sim.kafka.create_topic("t")
    rule = FaultRule(api="InitProducerId", error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=3)
    with sim.kafka.controls.faults.add(rule) as fault:
        async with producer_of(sim) as producer:
            await (await producer.send(record(b"x")))
        assert fault.hits == 3


@simulate(seeds=1)
async def test_refused_id_is_fatal_for_the_producer(sim):
    await sim.kafka.create_topic("t")
    rule = FaultRule(api="InitProducerId", error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with sim.kafka.controls.faults.add(rule):
        async with producer_of(sim) as producer:
            receipt = await producer.send(record(b"x"))
            with pytest.raises(FatalError, match="CLUSTER_AUTHORIZATION_FAILED") as caught:
                await receipt
            assert not caught.value.sent
            with pytest.raises(FatalError):
                await producer.send(record(b"y"))


@simulate(seeds=1)
async def test_id_that_brokers_do_not_accept_any_more_is_replaced(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim) as producer:
        await (await producer.send(record(b"x")))
        first = producer.accumulator.identities.current
        rule = FaultRule(api="Produce", error=ErrorCode.INVALID_PRODUCER_EPOCH, times=1)
        with sim.kafka.controls.faults.add(rule):
            failed = await producer.send(record(b"failed"))
            with pytest.raises(Exception, match="INVALID_PRODUCER_EPOCH"):
                await failed
        await (await producer.send(record(b"y")))

        assert producer.accumulator.identities.current.producer_id != first.producer_id
    assert await sim.values("t") == [b"x", b"y"]


@simulate(seeds=1)
async def test_producer_without_idempotence_needs_no_id(sim):
    await sim.kafka.create_topic("t")
    sim.kafka.controls.recorder.start()
    async with producer_of(sim, acks=1) as producer:
        assert (await (await producer.send(record(b"x")))).offset == 0
    assert not sim.kafka.controls.recorder.requests("InitProducerId")
