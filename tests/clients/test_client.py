"""The core of a client over a simulated network: its tasks, its tree, its end."""

import pytest
import trio

from trio_kafka.clients import ProducerRecord, open_consumer, open_producer
from trio_kafka.clients.client import metadata_of, open_client
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.introspect.tree import Node
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k10001_describe_tree import DescribeTreeRequest
from trio_kafka.testing.scripted_client import connected, newest
from trio_kafka.testing.simulate import simulate


def metadata_at(sim, **changes):
    settings = ClientSettings(bootstrap_servers=(str(sim.lives.address),), **changes)
    return metadata_of(settings, sim.clients)


@simulate(seeds=2)
async def test_client_learns_of_a_topic_and_asks_its_leader(sim):
    await sim.kafka.create_topic("t", 3)

    async with open_client(metadata_at(sim), name="client") as client:
        topic = await client.metadata.wait_topic("t", timeout_s=10.0)
        leader = topic.partitions[2].node
        response = await client.links[leader].ask(ApiVersionsRequest("me", "1"), timeout_s=5.0)

    assert sorted(topic.partitions) == [0, 1, 2]
    assert topic.topic_id != bytes(16)
    assert response.error_code == 0


@simulate(seeds=1)
async def test_client_is_shown_in_the_tree_while_it_is_open(sim):
    root = Node("broker-1", "broker")
    await sim.kafka.create_topic("t")

    async with open_client(metadata_at(sim), name="client-1", tree=root) as client:
        await client.metadata.wait_topic("t", timeout_s=10.0)
        shown = {node.name: node.figures() for _, node in root.walk()}

    assert shown["metadata"]["topics"] == 1
    assert shown["links"]["connected"] == 1
    assert shown["broker -1"]["connected"]
    assert root.children == ()


@simulate(seeds=1)
async def test_exception_of_the_block_leaves_it_without_a_group(sim):
    with pytest.raises(LookupError, match="mine"):
        async with open_client(metadata_at(sim), name="client"):
            raise LookupError("mine")


@simulate(seeds=1)
async def test_cancelled_block_ends_at_once(sim):
    start = trio.current_time()
    with trio.move_on_after(1.0):
        async with open_client(metadata_at(sim), name="client"):
            await trio.sleep_forever()

    assert trio.current_time() - start == pytest.approx(1.0)


@simulate(seeds=1)
async def test_clients_in_the_process_of_a_broker_are_shown_by_its_tree(sim):
    await sim.kafka.create_topic("t")
    config = {"bootstrap.servers": str(sim.lives.address)}
    tree = sim.lives.broker.parts.tree
    async with (
        open_producer({**config, "client.id": "sells"}, world=sim.clients, tree=tree) as producer,
        open_consumer(
            {**config, "client.id": "reads", "group.id": "g"}, world=sim.clients, tree=tree
        ) as consumer,
        connected(sim.clients, sim.lives.address) as client,
    ):
        consumer.subscribe(["t"])
        await (await producer.send(ProducerRecord("t", b"1")))
        await consumer.poll(5.0)
        answer = await client.ask(DescribeTreeRequest(), newest(DescribeTreeRequest))

    names = {row.name for row in answer.rows}
    assert {"sells", "reads", "sender", "fetcher", "group", "metadata", "telemetry"} <= names
    assert any(name.startswith("broker 1") for name in names)
