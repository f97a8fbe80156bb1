"""Errors of a client whose broker cannot be reached, or answers something else.

Each case is a peer that behaves badly; the same send must fail within its deadline, with a typed
error that names where it happened, and that says truthfully that nothing was sent.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.clients import ProducerRecord, open_consumer, open_producer
from trio_kafka.clients.errors import (
    ClientError,
    ClosedError,
    SerializationError,
    TimedOutError,
)
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulate import simulate
from trio_kafka.world.protocols import Socket
from trio_kafka.world.simulated import Universe
from trio_kafka.world.world import World

PORT = 9092
BLOCK_S = 3.0
Peer = Callable[[Socket], Awaitable[None]]


async def _received(socket: Socket, least: int = 1) -> bytes:
    data = bytearray()
    buffer = memoryview(bytearray(4096))
    while len(data) < least:
        try:
            count = socket.receive_into(buffer)
        except BlockingIOError:
            await socket.wait_readable()
            continue
        if not count:
            break
        data += buffer[:count]
    return bytes(data)


async def http(socket: Socket) -> None:
    await _received(socket)
    socket.send(memoryview(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))


async def tls(socket: Socket) -> None:
    await _received(socket)
    socket.send(memoryview(bytes([21, 3, 3, 0, 2, 2, 70])))  # an alert: protocol version


async def garbage(socket: Socket) -> None:
    await _received(socket)
    socket.send(memoryview(bytes([0, 0, 0, 8]) + b"\xff" * 8))


async def wrong_correlation(socket: Socket) -> None:
    request = await _received(socket, 12)
    correlation = int.from_bytes(request[8:12], "big") + 1
    socket.send(memoryview(bytes([0, 0, 0, 10]) + correlation.to_bytes(4, "big") + bytes(6)))


async def half_an_answer(socket: Socket) -> None:
    request = await _received(socket, 12)
    socket.send(memoryview(bytes([0, 0, 1, 0]) + request[8:12] + bytes(10)))


async def silence(socket: Socket) -> None:
    await _received(socket)
    await trio.sleep_forever()


async def nothing(socket: Socket) -> None:
    del socket
    await trio.lowlevel.checkpoint()


@asynccontextmanager
async def serving(world: World, peer: Peer) -> AsyncIterator[None]:
    """Run a peer that treats each connection so, until the end of the block."""
    listener = await world.network.listen("", PORT)

    async def treat(socket: Socket) -> None:
        try:
            await peer(socket)
        finally:
            socket.close()

    async def serve() -> None:
        async with trio.open_nursery() as nursery:
            while True:
                nursery.start_soon(treat, await listener.accept())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        yield
        nursery.cancel_scope.cancel()
    listener.close()


PEERS = [
    (http, "answer of 1213486160 bytes|HTTP"),
    (tls, "bytes|closed"),
    (garbage, "answer|correlation"),
    (wrong_correlation, "want"),
    (half_an_answer, "missing"),
    (silence, "in time"),
    (nothing, "closed"),
]


@pytest.mark.parametrize(("peer", "reason"), PEERS, ids=[peer.__name__ for peer, _ in PEERS])
async def test_bad_peer_is_named_within_the_deadline(
    autojump_clock: MockClock, peer: Peer, reason: str
) -> None:
    universe = Universe(0)
    config = {
        "bootstrap.servers": f"there:{PORT}",
        "max.block.ms": int(BLOCK_S * 1000),
        "request.timeout.ms": 1000,
        "delivery.timeout.ms": 5000,
        "socket.connection.setup.timeout.ms": 1000,
        "default.api.timeout.ms": int(BLOCK_S * 1000),
    }
    consumer_config = {
        name: value
        for name, value in config.items()
        if name not in {"max.block.ms", "delivery.timeout.ms"}
    }
    del config["default.api.timeout.ms"]
    async with serving(universe.machine("there"), peer):
        here = universe.machine("here")
        async with open_producer(config, world=here) as producer:
            start = trio.current_time()
            with pytest.raises(TimedOutError, match=reason) as caught:
                await producer.send(ProducerRecord("orders", b"1"))
            took_s = trio.current_time() - start
        async with open_consumer(consumer_config, world=here) as consumer:
            with pytest.raises(ClientError, match="orders"):
                await consumer.end_offsets([TopicPartition("orders", 3)])

    assert caught.value.topic == "orders"
    assert f"there:{PORT}" in str(caught.value)
    assert not caught.value.sent
    assert BLOCK_S <= took_s < BLOCK_S + 0.5


async def test_port_without_a_listener_is_named(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    universe.machine("there")
    config = {"bootstrap.servers": f"there:{PORT}", "max.block.ms": 1000}
    async with open_producer(config, world=universe.machine("here")) as producer:
        with pytest.raises(TimedOutError, match=f"orders.*there:{PORT}") as caught:
            await producer.send(ProducerRecord("orders", b"1"))

    assert not caught.value.sent


@simulate(seeds=1)
async def test_errors_of_the_user_name_topic_and_partition(sim):
    await sim.kafka.create_topic("t")

    def raising(value: object) -> bytes:
        raise LookupError(value)

    config = {"bootstrap.servers": str(sim.lives.address)}
    async with open_producer(
        config, key_serializer=raising, value_serializer=raising, world=sim.clients
    ) as producer:
        with pytest.raises(SerializationError, match=r"t-0: .*LookupError: 7") as caught:
            await producer.send(ProducerRecord("t", 7, partition=0))
    with pytest.raises(ClosedError):
        await producer.send(ProducerRecord("t", 7))
    async with open_consumer(config, world=sim.clients) as consumer:
        pass
    with pytest.raises(ClosedError):
        await consumer.poll(1.0)

    assert (caught.value.topic, caught.value.partition) == ("t", 0)


@simulate(seeds=1)
async def test_batch_whose_leader_is_lost_names_its_partition_when_its_time_is_over(sim):
    await sim.kafka.create_topic("t")
    config = {
        "bootstrap.servers": str(sim.lives.address),
        "request.timeout.ms": 1000,
        "delivery.timeout.ms": 4000,
    }
    async with open_producer(config, world=sim.clients) as producer:
        await (await producer.send(ProducerRecord("t", b"1")))
        await sim.kafka.kill()
        start = trio.current_time()
        receipt = await producer.send(ProducerRecord("t", b"2", partition=0))
        with pytest.raises(TimedOutError) as caught:
            await receipt

    assert (caught.value.topic, caught.value.partition) == ("t", 0)
    assert 4.0 <= trio.current_time() - start < 5.0
