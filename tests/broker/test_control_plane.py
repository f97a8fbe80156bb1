"""A control plane: every API on a listener of its own, whatever the data plane does."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.apis.configs import BROKER, SET, alter
from tests.apis.kit import batch, produce, produce_request
from tests.network.echoing import waiting
from trio_kafka.broker.parts.listeners import PLANES_TASK
from trio_kafka.plugin import Context, api
from trio_kafka.protocol.messages.k00_produce import ProduceResponse
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from trio_kafka.requests.api import api_of
from trio_kafka.requests.registry import Registry, installed_apis
from trio_kafka.scheduling.yield_point import YieldPoint
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.planes import until
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse
from trio_kafka.testing.scripted_client import connect, request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.protocols import PIECE
from trio_kafka.world.real import RealWorld
from trio_kafka.world.world import World
from trio_kafka_apis.k18_api_versions import TELEMETRY

SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,CONTROL://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROL:PLAINTEXT",
    "control.plane.listener.name": "CONTROL",
}


@asynccontextmanager
async def controlled(
    world: World, settings: Mapping[str, str] | None = None, apis: Registry | None = None
) -> AsyncIterator[ServedBroker]:
    async with served_broker(world, {**SETTINGS, **(settings or {})}, apis=apis) as served:
        yield served


async def test_broker_without_control_plane_listener_has_one_plane(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        assert [plane.name for plane in served.broker.planes] == ["data"]


async def test_control_plane_serves_every_api(autojump_clock: MockClock) -> None:
    async with controlled(simulated_world()) as served, served.connect("CONTROL") as client:
        answer = await client.ask(ApiVersionsRequest("t", "1"), 3)

        listed = set(installed_apis().names) - TELEMETRY  # these with a subscription
        assert {api_key.api_key for api_key in answer.api_keys} == listed
        await served.create_topic("t")
        assert (await produce(client, "t", batch(b"x"))).error_code == 0


async def test_control_plane_has_the_sizes_and_names_of_kafka(autojump_clock: MockClock) -> None:
    async with controlled(simulated_world()) as served:
        plane = served.broker.planes[1]
        node = next(node for _, node in served.broker.node.walk() if node.name == "plane control")
        figures = {below.name: below.figures() for _, below in node.walk()}

        assert plane.name == "control"
        assert len(plane.processors) == 1
        assert plane.processors[0].name == (
            "control-plane-kafka-network-thread-1-CONTROL-PLAINTEXT-0"
        )
        assert figures["request-handlers"]["size"] == 1
        channels = [below.figures() for _, below in node.walk() if below.kind == "channel"]
        assert 20 in [channel["bound"] for channel in channels]
        port = served.broker.endpoints["CONTROL"].port
        assert f"control-plane-kafka-socket-acceptor-CONTROL-PLAINTEXT-{port}" in figures


async def test_control_plane_size_does_not_follow_num_network_threads(
    autojump_clock: MockClock,
) -> None:
    async with controlled(simulated_world()) as served:
        changes = ("num.network.threads", SET, "6"), ("num.io.threads", SET, "16")
        assert await alter(served, BROKER, "", *changes) == (0, None)

        data, control = served.broker.planes
        assert len(data.listeners["PLAINTEXT"].processors) == 6
        assert len(control.processors) == 1


async def test_metadata_names_the_listener_of_the_clients_connection(
    autojump_clock: MockClock,
) -> None:
    async with controlled(simulated_world()) as served, served.connect("CONTROL") as client:
        endpoints = served.broker.endpoints
        for asking_client, name in (served.client, "PLAINTEXT"), (client, "CONTROL"):
            (entry,) = (await asking_client.ask(MetadataRequest([]), 12)).brokers
            assert entry.port == endpoints[name].port
            (entry,) = (await asking_client.ask(DescribeClusterRequest(), 0)).brokers
            assert entry.port == endpoints[name].port


async def test_control_plane_serves_while_all_handlers_and_the_queue_of_the_data_plane_are_full(
    autojump_clock: MockClock,
) -> None:
    gate = trio.Event()

    wait = waiting(gate.wait, "done")

    apis, wait_api = installed_apis().copy(), api_of(wait)
    assert wait_api is not None
    apis.add(wait_api)
    world = simulated_world()
    settings = {"num.io.threads": "1", "queued.max.requests": "1"}
    async with controlled(world, settings, apis) as served, served.connect("CONTROL") as client:
        processors = served.broker.plane.processors
        clients = [await connect(world.network, served.broker.endpoint) for _ in range(4)]
        for data_client in clients:
            await data_client.send(request_frame(WaitRequest(1), 0))
        await until(
            lambda: any(processor.figures()["waiting_for_room"] for processor in processors)
        )

        with trio.fail_after(1):
            await client.ask(ApiVersionsRequest("t", "1"), 3)
            await client.ask(DescribeClusterRequest(), 0)
        gate.set()
        for data_client in clients:
            assert (await data_client.receive_answer(WaitResponse, 0))[1].outcome == "done"
            data_client.close()


async def test_request_in_flight_on_the_control_plane_is_answered_when_the_broker_stops(
    autojump_clock: MockClock,
) -> None:
    wait = waiting(lambda: trio.sleep(2), "done")

    apis, wait_api = installed_apis().copy(), api_of(wait)
    assert wait_api is not None
    apis.add(wait_api)
    world = simulated_world()
    async with controlled(world, apis=apis) as served:
        client = await connect(world.network, served.broker.endpoints["CONTROL"])
        await client.send(request_frame(WaitRequest(1), 0))
        await trio.sleep(1)
        tasks = served.broker.tasks
    assert (await client.receive_answer(WaitResponse, 0))[1].outcome == "done"
    await client.wait_closed()
    assert not tasks.runs(PLANES_TASK)
    client.close()


async def test_control_request_is_served_between_two_data_requests(tmp_path: Path) -> None:
    """Over real sockets: what comes while a turn of the data plane runs is served before that turn
    is over.
    """
    order: list[str] = []
    world = RealWorld(SkippingClock())

    @api(EchoRequest)
    def echo(request: EchoRequest, context: Context) -> EchoResponse:
        order.append(request.text)
        if request.text == "first":
            control.socket.send(request_frame(EchoRequest("control", 1), 0))
        ends = world.clock.elapsed() + 0.0005
        while world.clock.elapsed() < ends:  # longer than a slice
            pass
        return EchoResponse(text=request.text)

    apis, echo_api = installed_apis().copy(), api_of(echo)
    assert echo_api is not None
    apis.add(echo_api)
    settings = {"log.dirs": str(tmp_path), "num.network.threads": "1"}
    async with (
        controlled(world, settings, apis) as served,
        served.connect("CONTROL") as control,
        served.connect() as first_client,
        served.connect() as second_client,
    ):
        await control.ask(ApiVersionsRequest("t", "1"), 3)
        for client, text in (first_client, "first"), (second_client, "second"):
            client.socket.send(request_frame(EchoRequest(text, 1), 0))
        for client in first_client, second_client, control:
            await client.receive_answer(EchoResponse, 0)

    assert sorted(order) == ["control", "first", "second"]
    assert order.index("control") == order.index("first") + 1


async def test_control_request_is_served_between_the_pieces_of_a_large_produce(
    tmp_path: Path,
) -> None:
    """Over real sockets; also to write where the large one goes, and behind that."""
    world, seen = RealWorld(SkippingClock()), list[tuple[int, int]]()
    async with (
        controlled(world, {"log.dirs": str(tmp_path)}) as served,
        served.connect("CONTROL") as control,
        served.connect() as client,
    ):
        await served.create_topic("t")
        await control.ask(ApiVersionsRequest("t", "1"), 3)
        log = served.broker.replicas.partition("t", 0).local_log()
        (processor,) = served.broker.planes[1].processors
        yield_point = log.latency.yield_point
        assert yield_point.bound

        def noted() -> None:
            if not seen:
                small = produce_request("t", (0, batch(b"small")))
                control.socket.send(request_frame(small, 9))
            before = processor.figures()["served"]
            yield_point()
            seen.append((processor.figures()["served"] - before, log.end_offset))

        log.latency.yield_point = YieldPoint()
        log.latency.yield_point.bind(noted)
        assert (await produce(client, "t", batch(bytes(3 * PIECE)))).base_offset == 0
        answer = (await control.receive_answer(ProduceResponse, 9))[1]

    assert seen == [(1, 0), (0, 0), (0, 0)]
    assert answer.responses[0].partition_responses[0].base_offset == 1


@pytest.mark.slow
async def test_fifty_data_connections_and_the_control_plane_do_not_starve_each_other(
    tmp_path: Path,
) -> None:
    world = RealWorld(SkippingClock())
    async with controlled(world, {"log.dirs": str(tmp_path)}) as served:
        await served.create_topic("t")
        stop, written, request_count = trio.Event(), 0, 0

        async def write() -> None:
            nonlocal written
            async with served.connect() as client:
                while not stop.is_set():
                    assert (await produce(client, "t", batch(b"x" * 1000))).error_code == 0
                    written += 1

        async def ask() -> None:
            nonlocal request_count
            async with served.connect("CONTROL") as client:
                while not stop.is_set():
                    await client.ask(ApiVersionsRequest("t", "1"), 3)
                    request_count += 1

        async with trio.open_nursery() as nursery:
            for _ in range(50):
                nursery.start_soon(write)
            for _ in range(5):
                nursery.start_soon(ask)
            await until(lambda: written > 500 and request_count > 100, 30.0)
            stop.set()
