"""Reads of whole logs, in the simulated and in the real world."""

from trio_kafka.model import TopicPartition
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.clients import Consumer, Producer, read_log
from trio_kafka.testing.simulate import simulate
from trio_kafka.world.real import RealWorld


@simulate(seeds=2)
async def test_a_log_is_read_from_start_to_end_across_segments(sim):
    await sim.kafka.create_topic("t")
    await sim.kafka.create_topic("empty")
    async with sim.producer() as producer:
        for number in range(20):
            await producer.send("t", b"%d" % number, b".")

    log = await sim.log()

    assert list(log) == [TopicPartition("empty", 0), TopicPartition("t", 0)]
    assert list(log[TopicPartition("t", 0)]) == list(range(40))
    assert log[TopicPartition("empty", 0)] == {}


@simulate(seeds=2)
async def test_log_is_read_from_its_start_offset(sim):
    await sim.kafka.create_topic("t", configs={"retention.ms": "1", "segment.ms": "1"})
    async with sim.producer() as producer:
        for number in range(4):
            await producer.send("t", b"%d" % number)
    log = sim.kafka.broker.replicas.partition("t", 0).local_log()
    log.set_start_offset(3)

    assert list((await sim.log("t"))[TopicPartition("t", 0)]) == [3]


async def test_producer_and_consumer_work_over_real_sockets(tmp_path):
    world = RealWorld()
    settings = {"log.dirs": str(tmp_path), "group.initial.rebalance.delay.ms": "0"}
    async with served_broker(world, settings) as served:
        await served.create_topic("t")
        address = served.broker.endpoint
        async with Producer(world=world, bootstrap=address) as producer:
            await producer.send("t", b"a", b"b")
        async with Consumer(world=world, bootstrap=address, topics=["t"], group="g") as consumer:
            records = []
            while len(records) < 2:
                records += await consumer.poll(0.1)
            assert await consumer.commit()

        log = await read_log(world, address)

    assert [record.value for record in records] == [b"a", b"b"]
    assert [record.value for record in log[TopicPartition("t", 0)].values()] == [b"a", b"b"]
