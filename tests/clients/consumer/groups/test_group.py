"""Groups of both protocols, with a member of ours, against the broker in virtual time."""

import pytest
import trio

from tests.clients.consumer.groups.kit import wait_assigned
from tests.clients.consumer.kit import T0, T1, consumer_of, read, values
from trio_kafka.clients import GroupMetadata, open_producer
from trio_kafka.testing.simulate import simulate


@pytest.mark.parametrize(
    "settings",
    [{"heartbeat_interval_ms": 500}, {"group_protocol": "consumer"}],
    ids=["classic", "consumer"],
)
def test_single_member_reads_all_partitions_and_commits_at_the_end(settings):
    @simulate(seeds=2)
    async def run(sim):
        await sim.kafka.create_topic("t", 2)
        await sim.kafka.produce("t", *[b"%d" % n for n in range(10)])

        async with consumer_of(sim, group_id="g", **settings) as consumer:
            consumer.subscribe(["t"])
            records = await read(consumer, 10)
        async with consumer_of(sim, group_id="g", **settings) as consumer:
            committed = await consumer.committed([T0, T1])
            consumer.subscribe(["t"])
            again = await consumer.poll(5.0)

        assert len(values(records)) == 10
        assert sum(offset.offset for offset in committed.values()) == 10
        assert again == []

    run()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@simulate(seeds=1)
async def test_topic_that_does_not_exist_yet_is_read_soon_after_it_is_created(sim, protocol):
    async with consumer_of(sim, group_id="g", group_protocol=protocol) as consumer:
        consumer.subscribe(["t"])
        assert await consumer.poll(20.0) == []

        await sim.kafka.create_topic("t")

        with trio.fail_after(15):  # a back-off of 1 s, and the next heartbeat
            await wait_assigned(consumer, 1)


@simulate(seeds=1)
async def test_committed_offset_that_a_transaction_is_changing_is_read_after_its_end(sim):
    await sim.kafka.create_topic("t")
    config = {"bootstrap.servers": str(sim.lives.address), "transactional.id": "x"}
    offsets = []

    async def ask():
        async with consumer_of(sim, group_id="g") as consumer:
            offsets.append((await consumer.committed([T0]))[T0].offset)

    async with (
        open_producer(config, world=sim.clients) as producer,
        trio.open_nursery() as nursery,
        producer.transaction() as transaction,
    ):
        await transaction.send_offsets({T0: 7}, GroupMetadata(group_id="g"))
        nursery.start_soon(ask)
        await trio.sleep(5.0)
        assert offsets == []

    assert offsets == [7]


@simulate(seeds=1)
async def test_group_of_a_broker_without_stable_offsets_can_be_read(sim):
    await sim.kafka.as_version("2.4")  # KIP-447 came with 2.5
    await sim.kafka.create_topic("t")
    await sim.kafka.produce("t", b"a")

    async with consumer_of(sim, group_id="g") as consumer:
        consumer.subscribe(["t"])
        records = await read(consumer, 1)

    assert values(records) == [b"a"]
