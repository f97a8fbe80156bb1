"""Opening of producers: settings, names, the tree."""

import pytest

from tests.clients.producer.kit import producer_of, record
from trio_kafka.clients import open_producer
from trio_kafka.clients.errors import TimedOutError
from trio_kafka.clients.settings.load import SettingWarning
from trio_kafka.config.setting import ConfigError
from trio_kafka.introspect.tree import Node
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulate import simulate
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld


def test_wrong_settings_are_an_error_before_anything_is_opened():
    with pytest.raises(ConfigError, match=r"did you mean linger\.ms"):
        open_producer({"bootstrap.servers": "a:1", "linger.msec": 1})
    with pytest.warns(SettingWarning, match="ssl"):
        open_producer({"bootstrap.servers": "a:1", "ssl.provider": "A"})


@simulate(seeds=1)
async def test_producer_without_a_client_id_gets_one(sim):
    async with producer_of(sim) as first, producer_of(sim, client_id="me") as second:
        assert first.settings.client_id.startswith("producer-")
        assert second.settings.client_id == "me"


@simulate(seeds=1)
async def test_producer_is_shown_in_the_tree(sim):
    root = Node("broker-1", "broker")
    await sim.kafka.create_topic("t")
    async with producer_of(sim, tree=root, client_id="me") as producer:
        await producer.send(record(b"x"))
        figures = {node.name: node.figures() for _, node in root.walk()}
        assert figures["sender"]["batches"] == 1
        assert figures["sender"]["memory"] > 0
    assert root.children == ()


@simulate(seeds=1)
async def test_brokers_that_cannot_be_found_are_an_error_of_send_and_not_of_opening(sim):
    async with producer_of(sim, bootstrap_servers="nowhere:1", max_block_ms=1000) as producer:
        with pytest.raises(TimedOutError, match="nowhere"):
            await producer.send(record(b"x"))


async def test_producer_on_this_machine_speaks_over_its_sockets(tmp_path):
    settings = {"log.dirs": str(tmp_path)}
    async with served_broker(RealWorld(SkippingClock()), settings) as served:
        await served.create_topic("t")
        async with open_producer({"bootstrap.servers": served.broker.bootstrap}) as producer:
            receipts = [await producer.send(record(bytes(1000))) for _ in range(300)]
        assert [receipt.result().offset for receipt in receipts] == list(range(300))
