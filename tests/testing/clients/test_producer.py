"""The producer: offsets, retries, idempotence, acks."""

import pytest
import trio

from trio_kafka.clients.errors import RecordTooLargeError, RetriableError
from trio_kafka.config.setting import ConfigError
from trio_kafka.testing.checkers.history import Acknowledged, Sent
from trio_kafka.testing.simulate import simulate
from trio_kafka.world.simulated.faults import CallFault


@simulate(seeds=2)
async def test_batches_get_offsets_in_order_and_are_in_the_history(sim):
    await sim.kafka.create_topic("t", 2)

    async with sim.producer("p") as producer:
        offsets = [await producer.send("t", b"a", b"b", partition=1) for _ in range(2)]

    assert offsets == [0, 2]
    assert await sim.values("t") == [b"a", b"b", b"a", b"b"]
    assert [record.offset for record in sim.history.of(Acknowledged)] == [0, 1, 2, 3]
    assert {event.idempotent for event in sim.history.of(Sent)} == {True}


@simulate(seeds=4)
async def test_idempotent_batch_whose_response_is_lost_is_appended_once(sim):
    await sim.kafka.create_topic("t")
    async with sim.producer(request_s=1.0) as producer:
        await producer.send("t", b"first")
        sim.universe.cut("kafka", "clients", one_way=True)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(producer.send, "t", b"second")
            await trio.sleep(3)
            sim.universe.heal("kafka", "clients")

    assert await sim.values("t") == [b"first", b"second"]
    await sim.check()


@simulate(seeds=1)
async def test_batch_whose_response_is_lost_may_be_appended_twice_without_idempotence(sim):
    await sim.kafka.create_topic("t")
    async with sim.producer(request_s=1.0, idempotent=False) as producer:
        await producer.send("t", b"first")
        sim.universe.cut("kafka", "clients", one_way=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(producer.send, "t", b"second")
            await trio.sleep(2)
            sim.universe.heal("kafka", "clients")

    assert (await sim.values("t")).count(b"second") > 1
    await sim.check()


@simulate(seeds=1)
async def test_batch_without_retries_fails_after_its_first_failure(sim):
    await sim.kafka.create_topic("t")
    async with sim.producer(retries=False, idempotent=False) as producer:
        await producer.send("t", b"first")
        sim.universe.faults.add(
            CallFault(machine="clients", call="send", error="ECONNRESET", times=1)
        )

        with pytest.raises(RetriableError, match="t-0") as caught:
            await producer.send("t", b"second")
        assert not caught.value.sent
        assert await producer.send("t", b"third") == 1


@simulate(seeds=1)
async def test_rejected_batch_is_not_retried(sim):
    await sim.kafka.create_topic("t", configs={"max.message.bytes": "200"})
    async with sim.producer() as producer:
        with pytest.raises(RecordTooLargeError, match="t-0") as caught:
            await producer.send("t", bytes(300))

        assert not caught.value.sent
        assert await producer.send("t", b"small") == 0


@simulate(seeds=1)
async def test_batch_without_acks_is_sent_without_waiting_for_a_response(sim):
    await sim.kafka.create_topic("t")
    async with sim.producer(acks=0, idempotent=False) as producer:
        assert await producer.send("t", b"x") == -1
        await trio.sleep(0.5)

    assert await sim.values("t") == [b"x"]


@simulate(seeds=1)
async def test_tasks_may_share_a_producer(sim):
    await sim.kafka.create_topic("t")
    async with sim.producer() as producer, trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(producer.send, "t", b"%d" % number)

    assert sorted(await sim.values("t")) == [b"0", b"1", b"2", b"3", b"4"]
    await sim.check()


@simulate(seeds=1)
async def test_wrong_arguments_of_a_producer_are_refused(sim):
    with pytest.raises(ConfigError, match="acks"):
        async with sim.producer(acks=1):
            pass
    producer = sim.producer()
    with pytest.raises(ValueError, match="not open"):
        await producer.send("t", b"x")
    async with producer:
        with pytest.raises(ValueError, match="no values"):
            await producer.send("t")
