"""Listeners that come and go as the settings say, while the broker runs."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock

from tests.apis.configs import BROKER, DELETE, SET, alter, put
from tests.apis.kit import batch, fetch, produce
from tests.broker.kit import names_below
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.planes import until
from trio_kafka.testing.scripted_client import connect, connected
from trio_kafka.testing.simulation import run_until_crash, simulated_world
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka.world.simulated import SimulatedWorld
from trio_kafka.world.world import World

MAP = "PLAINTEXT:PLAINTEXT,IN:PLAINTEXT,OUT:PLAINTEXT"
ONE_LISTENER = "PLAINTEXT://127.0.0.1:0"
TWO_LISTENERS = f"{ONE_LISTENER},IN://127.0.0.1:0"
SETTINGS = {"listener.security.protocol.map": MAP}
OK = (0, None)


@asynccontextmanager
async def a_broker(world: World, **settings: str) -> AsyncIterator[ServedBroker]:
    named = {name.replace("_", "."): text for name, text in settings.items()}
    async with served_broker(world, SETTINGS | named) as served:
        yield served


async def listen(served: ServedBroker, listeners: str, **others: bool) -> tuple[int, str | None]:
    """Let these be the listeners; error and text."""
    return await alter(served, BROKER, "1", ("listeners", SET, listeners), **others)


async def test_new_listener_serves_as_soon_as_the_change_is_answered(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with a_broker(world) as served:
        assert await listen(served, TWO_LISTENERS) == OK

        assert list(served.broker.endpoints) == ["PLAINTEXT", "IN"]
        async with served.connect("IN") as client:
            assert (await client.ask(ApiVersionsRequest("t", "1"), 3)).error_code == 0
        assert "listener IN://" + str(served.broker.endpoints["IN"]) in names_below(served.broker)


async def test_new_listener_is_not_advertised_before_the_next_start(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    brokers = []
    for _ in range(2):
        async with a_broker(world) as served:
            await listen(served, TWO_LISTENERS)
            async with served.connect("IN") as client:
                metadata = await client.ask(MetadataRequest([]), 12)
            addresses = [(broker.host, broker.port) for broker in metadata.brokers]
            brokers.append(addresses == [("127.0.0.1", served.broker.endpoints["IN"].port)])
            (entry,) = (await served.ask(MetadataRequest([]), 12)).brokers
            assert entry.port == served.broker.endpoint.port

    assert brokers == [False, True]


async def test_address_in_use_refuses_the_change_of_listeners_and_keeps_them_unchanged(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    await world.network.listen("127.0.0.1", 9099)
    async with a_broker(world) as served:
        for only in True, False:
            code, text = await listen(
                served, f"{TWO_LISTENERS},OUT://127.0.0.1:9099", validate_only=only
            )

            assert code == ErrorCode.INVALID_REQUEST
            assert text is not None
            assert text.startswith("listeners: OUT://127.0.0.1:9099: ")
            assert "in use" in text
        assert list(served.broker.endpoints) == ["PLAINTEXT"]
        (figures,) = (
            node.figures() for _, node in served.broker.node.walk() if node.name == "listening"
        )
        assert figures == {
            "wanted": "PLAINTEXT",
            "bound_ahead": 0,
            "bound_late": 0,
            "failed": 0,
        }
        assert await listen(served, TWO_LISTENERS) == OK


async def test_validate_only_change_leaves_no_listener_bound(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with a_broker(world) as served:
        assert await listen(served, f"{ONE_LISTENER},IN://127.0.0.1:9099", validate_only=True) == OK

        with pytest.raises(ConnectionError):
            await connect(world.network, Endpoint("127.0.0.1", 9099))


async def test_refused_change_binds_no_listener(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with a_broker(world) as served:
        changes = ("listeners", SET, f"{ONE_LISTENER},IN://127.0.0.1:9099"), ("node.id", SET, "5")
        code, text = await alter(served, BROKER, "1", *changes)

        assert (code, text) == (
            ErrorCode.INVALID_REQUEST,
            "node.id: is read when the broker starts: change it in the broker's file, and restart",
        )
        with pytest.raises(ConnectionError):
            await connect(world.network, Endpoint("127.0.0.1", 9099))


@pytest.mark.parametrize("way", ["set", "delete", "all"])
async def test_removed_listener_closes_its_connections_and_no_other_connections(
    autojump_clock: MockClock, way: str
) -> None:
    world = simulated_world()
    async with a_broker(world) as served:
        assert await listen(served, TWO_LISTENERS) == OK
        address = served.broker.endpoints["IN"]
        async with connected(world, address) as client:
            await client.ask(ApiVersionsRequest("t", "1"), 3)

            if way == "set":
                assert await listen(served, ONE_LISTENER) == OK
            elif way == "delete":
                assert await alter(served, BROKER, "1", ("listeners", DELETE, None)) == OK
            else:
                assert await put(served, BROKER, "1") == OK

            await client.wait_closed()
        with pytest.raises(ConnectionError):
            await connect(world.network, address)
        assert list(served.broker.endpoints) == ["PLAINTEXT"]
        await served.ask(ApiVersionsRequest("t", "1"), 3)


async def test_request_in_flight_on_a_removed_listener_is_answered(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with a_broker(world) as served:
        await served.create_topic("t")
        assert await listen(served, TWO_LISTENERS) == OK
        async with served.connect("IN") as client:
            answers = []

            async def poll() -> None:
                answers.append(await fetch(client, "t", max_wait_ms=5000))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(poll)
                await trio.sleep(1)
                began = trio.current_time()
                assert await listen(served, ONE_LISTENER) == OK
                assert trio.current_time() - began < 1
            assert trio.current_time() - began > 3.5
            assert answers[0].error_code == 0
            await client.wait_closed()


async def test_registered_listener_cannot_be_removed(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with a_broker(world, listeners=TWO_LISTENERS) as served:
        assert await listen(served, ONE_LISTENER) == (
            ErrorCode.INVALID_REQUEST,
            "listeners: IN is registered with the cluster: keep it until this broker restarts",
        )
        assert list(served.broker.endpoints) == ["PLAINTEXT", "IN"]


async def test_unchanged_listener_keeps_its_socket_until_the_next_start(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    before = ""
    async with a_broker(world) as served:
        before = str(served.broker.endpoint)
        assert await listen(served, "PLAINTEXT://127.0.0.1:9099") == OK
        assert str(served.broker.endpoint) == before
        await served.ask(ApiVersionsRequest("t", "1"), 3)

    async with a_broker(world) as served:
        assert served.broker.endpoint.port == 9099
        assert served.broker.bootstrap == "127.0.0.1:9099"


async def test_new_listener_takes_over_the_address_of_a_removed_listener(
    autojump_clock: MockClock,
) -> None:
    await take_over(simulated_world())


@pytest.mark.slow
async def test_new_listener_takes_over_a_real_socket_of_a_removed_listener(tmp_path: Path) -> None:
    await take_over(RealWorld(SkippingClock()), log_dirs=str(tmp_path))


async def take_over(world: World, **settings: str) -> None:
    """In one change, answered when it serves; connections of the old one end, as ever."""
    async with a_broker(world, **settings) as served:
        assert await listen(served, TWO_LISTENERS) == OK
        address = served.broker.endpoints["IN"]

        for name in ("OUT", "IN", "OUT"):
            async with connected(world, address) as old:
                await old.ask(ApiVersionsRequest("t", "1"), 3)
                assert (
                    await listen(served, f"{ONE_LISTENER},{name}://127.0.0.1:{address.port}") == OK
                )

                assert served.broker.endpoints[name] == address
                async with connected(world, address) as client:
                    assert (await client.ask(ApiVersionsRequest("t", "1"), 3)).error_code == 0
                await old.wait_closed()
        figures = served.broker.listeners.figures()
        assert (figures["bound_late"], figures["failed"], figures["bound_ahead"]) == (0, 0, 0)
        assert await listen(served, ONE_LISTENER) == OK
        await served.broker.plane.wait_closed()
        with pytest.raises(ConnectionError):
            await connect(world.network, address)


async def test_queued_connection_of_a_removed_listener_is_served_by_its_successor(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    limit = {"listener_name_in_max_connections": "1"}
    async with a_broker(world, **limit) as served:
        assert await listen(served, f"{ONE_LISTENER},IN://127.0.0.1:9099") == OK
        address = served.broker.endpoints["IN"]
        async with connected(world, address) as first:
            await first.ask(ApiVersionsRequest("t", "1"), 3)
            async with connected(world, address), connected(world, address) as waiting:
                # The first of these two is in the acceptor's hand, the second in the queue.
                await trio.testing.wait_all_tasks_blocked()
                assert await listen(served, f"{ONE_LISTENER},OUT://127.0.0.1:9099") == OK

                assert (await waiting.ask(ApiVersionsRequest("t", "1"), 3)).error_code == 0
                await first.wait_closed()


async def test_address_of_an_unchanged_listener_is_refused_for_a_new_listener(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with a_broker(world) as served:
        port = served.broker.endpoint.port
        code, text = await listen(served, f"{ONE_LISTENER},IN://127.0.0.1:{port}")

        assert code == ErrorCode.INVALID_REQUEST
        assert text is not None
        assert "in use" in text


async def test_overlapping_address_is_bound_after_the_removed_listener_is_closed(
    autojump_clock: MockClock,
) -> None:
    await overlap(simulated_world())


@pytest.mark.slow
async def test_real_overlapping_address_is_bound_after_the_removed_listener_is_closed(
    tmp_path: Path,
) -> None:
    # A port that no client is given: between the two another process might get it.
    port = next(port for port in range(20_000 + os.getpid() % 10_000, 32_768) if is_free(port))
    await overlap(RealWorld(SkippingClock()), port, log_dirs=str(tmp_path))


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


async def overlap(world: World, port: int = 0, **settings: str) -> None:
    async with a_broker(world, **settings) as served:
        assert await listen(served, f"{ONE_LISTENER},IN://127.0.0.1:{port}") == OK
        port = served.broker.endpoints["IN"].port

        assert await listen(served, f"{ONE_LISTENER},OUT://:{port}") == OK

        await until(lambda: "OUT" in served.broker.endpoints)
        async with connected(world, Endpoint("127.0.0.1", port)) as client:
            assert (await client.ask(ApiVersionsRequest("t", "1"), 3)).error_code == 0
        figures = served.broker.listeners.figures()
        assert (figures["bound_late"], figures["failed"]) == (1, 0)


async def test_changed_listeners_are_served_again_after_a_power_failure(
    autojump_clock: MockClock,
) -> None:
    async def first(world: SimulatedWorld) -> None:
        async with a_broker(world) as served:
            assert await listen(served, f"{ONE_LISTENER},IN://127.0.0.1:9099") == OK
            await trio.sleep_forever()

    async def second(world: SimulatedWorld) -> None:
        async with a_broker(world) as served, served.connect("IN") as client:
            assert served.broker.endpoints["IN"].port == 9099
            await client.ask(ApiVersionsRequest("t", "1"), 3)

    world = simulated_world()
    await run_until_crash(world, first, 30.0)
    await second(world.universe.machine(world.name))


async def test_two_concurrent_changes_of_listeners_are_applied_in_sequence(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with a_broker(world) as served, served.connect() as client:
        other = ServedBroker(broker=served.broker, client=client)
        outcomes = []

        async def change(who: ServedBroker, listeners: str) -> None:
            outcomes.append(await listen(who, listeners))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(change, served, f"{ONE_LISTENER},IN://127.0.0.1:9099")
            nursery.start_soon(change, other, f"{ONE_LISTENER},OUT://127.0.0.1:9098")

        assert outcomes == [OK, OK]
        assert served.broker.listeners.figures()["bound_late"] == 0
        (last,) = set(served.broker.endpoints) - {"PLAINTEXT"}
        port = {"IN": 9099, "OUT": 9098}
        async with connected(world, Endpoint("127.0.0.1", port.pop(last))) as connection:
            await connection.ask(ApiVersionsRequest("t", "1"), 3)
        with pytest.raises(ConnectionError):
            await connect(world.network, Endpoint("127.0.0.1", *port.values()))


async def test_number_of_processors_of_a_new_listener_follows_its_own_setting(
    autojump_clock: MockClock,
) -> None:
    own = "listener.name.in.num.network.threads"
    world = simulated_world()
    async with a_broker(world) as served:
        changes = ("listeners", SET, TWO_LISTENERS), (own, SET, "5")
        assert await alter(served, BROKER, "1", *changes) == OK

        def sizes() -> list[int]:
            return [len(listener.processors) for listener in served.broker.plane.listeners.values()]

        await until(lambda: sizes() == [3, 5])
        assert await alter(served, BROKER, "1", (own, SET, "3")) == OK
        assert await alter(served, BROKER, "", ("num.network.threads", SET, "2")) == OK
        assert sizes() == [2, 3]
        code, text = await alter(served, BROKER, "1", (own, SET, "7"))
        assert (code, text) == (
            ErrorCode.INVALID_REQUEST,
            f"{own}: 7 is too far from 3: want 1 to 6",
        )
        assert await alter(served, BROKER, "1", (own, DELETE, None)) == OK
        assert sizes() == [2, 2]


async def test_listener_that_could_not_be_bound_is_bound_with_the_next_change(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    taken = await world.network.listen("127.0.0.1", 9099)
    async with a_broker(world) as served:
        listening, written = served.broker.listeners, served.broker.config

        def follow(listeners: str) -> None:
            listening.follow(attrs.evolve(written, listeners=tuple(listeners.split(","))))

        follow(f"{ONE_LISTENER},IN://127.0.0.1:9099,OUT://127.0.0.1:9098")
        await until(lambda: "OUT" in served.broker.endpoints)
        assert "IN" not in served.broker.endpoints
        assert (listening.figures()["bound_late"], listening.figures()["failed"]) == (1, 1)

        taken.close()
        follow(f"{ONE_LISTENER},IN://127.0.0.1:9099,OUT://127.0.0.1:9098")
        await until(lambda: "IN" in served.broker.endpoints)
        follow(ONE_LISTENER)
        assert list(served.broker.endpoints) == ["PLAINTEXT"]


async def write_until(served: ServedBroker, stop: trio.Event, number: int) -> int:
    """Write single records to a partition over one connection; how many were acknowledged."""
    written = 0
    async with served.connect() as client:
        while not stop.is_set():
            assert (await produce(client, "t", batch(b"x"), partition=number)).error_code == 0
            written += 1
    return written


def appended(served: ServedBroker) -> int:
    logs = (served.broker.replicas.partition("t", number).local_log() for number in range(4))
    return sum(log.end_offset for log in logs)


@pytest.mark.slow
async def test_fifty_changes_under_load_do_not_disturb_an_unchanged_listener(
    tmp_path: Path,
) -> None:
    world = RealWorld(SkippingClock())
    async with a_broker(world, log_dirs=str(tmp_path)) as served:
        await served.create_topic("t", partitions=4)
        stop, written = trio.Event(), []

        async def write(number: int) -> None:
            written.append(await write_until(served, stop, number))

        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(write, number)
            for turn in range(50):
                names = ["IN", "OUT"][: turn % 3]
                listeners = [ONE_LISTENER, *(f"{name}://127.0.0.1:0" for name in names)]
                assert await listen(served, ",".join(listeners)) == OK
                assert list(served.broker.endpoints) == ["PLAINTEXT", *names]
                for name in names:
                    async with served.connect(name) as client:
                        await client.ask(ApiVersionsRequest("t", "1"), 3)
            stop.set()

        assert sum(written) == appended(served) > 50
        assert served.closed("stopped") == served.closed("drained") == 0


@pytest.mark.slow
async def test_fifty_changes_of_thread_counts_under_load_lose_no_request(tmp_path: Path) -> None:
    """Connections of a processor that goes end between two requests."""
    world = RealWorld(SkippingClock())
    sizes = {"num_network_threads": "4", "num_io_threads": "4"}
    async with a_broker(world, log_dirs=str(tmp_path), **sizes) as served:
        await served.create_topic("t", partitions=4)
        stop, written, ended = trio.Event(), 0, 0

        async def write(number: int) -> None:
            nonlocal written, ended
            while not stop.is_set():
                async with served.connect() as client:
                    try:
                        while not stop.is_set():
                            part = await produce(client, "t", batch(b"x"), partition=number)
                            assert part.error_code == 0
                            written += 1
                    except (ConnectionError, EOFError):
                        ended += 1

        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(write, number)
            for turn in range(50):
                size = ("2", "4", "8", "4")[turn % 4]
                changes = ("num.network.threads", SET, size), ("num.io.threads", SET, size)
                assert await alter(served, BROKER, "", *changes) == OK
                assert len(served.broker.plane.listeners["PLAINTEXT"].processors) == int(size)
                before = written
                await until(lambda before=before: written > before + 4)  # on those there are
            stop.set()

        assert written == appended(served) > 50
        assert ended > 0
        assert served.closed("stopped") == 0


@pytest.mark.parametrize("others", ["", ",IN://127.0.0.1:7778"])
async def test_stored_address_in_use_at_the_start_is_replaced_by_the_address_of_the_files(
    autojump_clock: MockClock, others: str
) -> None:
    world = simulated_world()
    async with a_broker(world) as served:
        assert await listen(served, f"PLAINTEXT://127.0.0.1:7777{others}") == OK
    for port in (7777, 7778):
        await world.network.listen("127.0.0.1", port, 1)

    async with a_broker(world) as served:
        endpoints = served.broker.endpoints
        async with served.connect("PLAINTEXT") as client:
            metadata = await client.ask(MetadataRequest([]), 12)

    assert list(endpoints) == ["PLAINTEXT"]
    assert endpoints["PLAINTEXT"].port != 7777
    assert [broker.port for broker in metadata.brokers] == [endpoints["PLAINTEXT"].port]
