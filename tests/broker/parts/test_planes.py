"""The data plane as the settings say."""

from pathlib import Path

import trio

from tests.broker.kit import APIS, config_of, names_below
from tests.network.echoing import waiting
from trio_kafka.broker import Broker
from trio_kafka.requests.api import api_of
from trio_kafka.requests.registry import Registry
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.sample_apis import WaitRequest
from trio_kafka.testing.scripted_client import request_frame
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld


async def test_sizes_of_handlers_processors_and_channel_follow_their_settings(
    world, autojump_clock
) -> None:
    config = config_of(
        {"num.io.threads": "3", "queued.max.requests": "7", "num.network.threads": "2"}
    )

    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        figures = {node.name: node.figures() for _, node in broker.node.walk()}
        assert figures["request-handlers"]["size"] == 3
        assert len(broker.plane.processors) == 2
        assert broker.parts.tree is broker.node
        assert "plane data" in names_below(broker)
        channels = [node for _, node in broker.node.walk() if node.kind == "channel"]
        assert 7 in [channel.figures()["bound"] for channel in channels]


async def test_tree_counts_closed_connections_by_reason(world, autojump_clock) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        socket = await world.network.connect(broker.endpoint.host, broker.endpoint.port)
        socket.send(b"GET / HTTP/1.1\r\n")
        await socket.wait_readable()
        [counted] = [node for node in broker.node.children if node.name == "counters"]

        assert counted.figures()["connections_closed.PLAINTEXT.bad-frame"] == 1
        socket.close()


async def test_age_of_a_queued_request_is_measured_by_the_clock_of_its_stamps(
    tmp_path: Path,
) -> None:
    """Of the real world, where there are several: they begin at different times."""
    gate = trio.Event()

    wait = waiting(gate.wait)

    apis, wait_api = Registry(), api_of(wait)
    assert wait_api is not None
    apis.add(wait_api)
    settings = {"log.dirs": str(tmp_path / "data"), "num.io.threads": "1"}
    async with (
        served_broker(RealWorld(SkippingClock()), settings, apis=apis) as served,
        served.connect() as other,
    ):
        requests = next(
            node
            for _, node in served.broker.node.walk()
            if (node.kind, node.name) == ("channel", "requests")
        )
        began = trio.current_time()
        for client in (served.client, other):
            await client.send(request_frame(WaitRequest(1), 0))
        with trio.fail_after(10):
            while not requests.figures()["depth"]:
                await trio.sleep(0.005)  # it comes by a socket
        oldest_s = requests.figures()["oldest_s"]
        gate.set()

    assert isinstance(oldest_s, float)
    assert 0 <= oldest_s <= trio.current_time() - began
