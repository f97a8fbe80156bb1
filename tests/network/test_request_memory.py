"""Requests that share a pool of memory, on a plane in the simulated world."""

import struct

import pytest
import trio
from trio.testing import MockClock

from tests.network.echoing import delaying
from trio_kafka.network.memory import MemoryPool
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, api
from trio_kafka.testing.planes import RunningPlane, running_plane, until
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest
from trio_kafka.testing.scripted_client import ScriptedClient, connect, connected, request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.real import RealWorld
from trio_kafka.world.world import World

SETTINGS = ListenerSettings(processors=3)


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text[:1], number=request.number)


def large(number: int, size: int = 20_000) -> bytes:
    """A request of somewhat more than `size` bytes."""
    return request_frame(EchoRequest("x" * size, number), 0, correlation=number)


def pool_of(plane: RunningPlane) -> MemoryPool:
    pool = plane.plane.memory
    assert pool is not None
    return pool


async def crowd(world: World, plane: RunningPlane, count: int) -> list[ScriptedClient]:
    return [await connect(world.network, plane.endpoint) for _ in range(count)]


async def number(client: ScriptedClient) -> int:
    return (await client.receive_answer(EchoResponse, 0))[0]


async def promise(client: ScriptedClient, data: bytes) -> bytes:
    """Send all but the last byte of a request, which is given back."""
    await client.send(data[:-1])
    return data[-1:]


def muted(plane: RunningPlane) -> int:
    return sum(bool(connection.muted & MuteReason.MEMORY) for connection in plane.connections)


async def test_a_plane_has_no_memory_pool_by_default(autojump_clock: MockClock) -> None:
    async with running_plane(simulated_world(), [echo]) as plane:
        assert plane.plane.memory is None
        assert "memory-pool" not in [child.name for child in plane.node.children]


async def test_many_large_requests_are_served_one_at_a_time_by_a_tiny_memory_pool(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with running_plane(world, [echo], listener=SETTINGS, memory=1) as plane:
        clients = await crowd(world, plane, 40)
        async with trio.open_nursery() as nursery:
            for at, client in enumerate(clients):
                nursery.start_soon(client.send, b"".join(large(at * 10 + n) for n in range(5)))
                nursery.start_soon(expect, client, [at * 10 + n for n in range(5)])

        pool = pool_of(plane)
        assert (pool.free, len(pool)) == (1, 0)
        assert pool.least > -21_000  # one at a time
        for client in clients:
            client.close()


async def expect(client: ScriptedClient, numbers: list[int]) -> None:
    assert [await number(client) for _ in numbers] == numbers


async def test_requests_waiting_for_memory_are_read_in_order_of_arrival(
    autojump_clock: MockClock,
) -> None:
    served: list[int] = []

    @api(EchoRequest)
    def note(request: EchoRequest, context: Context) -> EchoResponse:
        served.append(request.number)
        return EchoResponse(text="", number=request.number)

    world = simulated_world()
    async with running_plane(world, [note], listener=SETTINGS, memory=20_000) as plane:
        clients = await crowd(world, plane, 5)
        rest = await promise(clients[0], large(0))
        await trio.sleep(1)
        for at in (3, 1, 4, 2):
            await clients[at].send(large(at))
            await trio.sleep(1)
        assert muted(plane) == 4
        assert served == []

        await clients[0].send(rest)
        assert [await number(client) for client in clients] == [0, 1, 2, 3, 4]

        assert served == [0, 3, 1, 4, 2]
        assert pool_of(plane).free == 20_000


async def test_a_small_request_waits_for_memory_and_is_answered_afterwards(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with running_plane(world, [echo], listener=SETTINGS, memory=10) as plane:
        holder, other = await crowd(world, plane, 2)
        rest = await promise(holder, large(1, 100))
        await trio.sleep(1)
        await other.send(large(2, 1))
        with trio.move_on_after(10) as scope:
            await number(other)
        assert scope.cancelled_caught

        await holder.send(rest)

        assert [await number(holder), await number(other)] == [1, 2]


@pytest.mark.parametrize("how", ["close", "abort"])
@pytest.mark.parametrize("who", ["holder", "waiter"])
async def test_a_client_that_closes_returns_its_memory_or_leaves_the_queue_for_memory(
    autojump_clock: MockClock, how: str, who: str
) -> None:
    world = simulated_world()
    async with running_plane(world, [echo], listener=SETTINGS, memory=100) as plane:
        holder, waiter, late = await crowd(world, plane, 3)
        rest = await promise(holder, large(1))
        await trio.sleep(1)
        await promise(waiter, large(2))
        await trio.sleep(1)
        await late.send(large(3))
        await trio.sleep(1)
        assert len(pool_of(plane)) == 2

        leaver, other = (holder, waiter) if who == "holder" else (waiter, holder)
        getattr(leaver.socket, how)()
        if who == "waiter":
            await trio.sleep(1)
            # A reset is noticed at once; an end of the stream only when it is read.
            assert len(pool_of(plane)) == (1 if how == "abort" else 2)
            await other.send(rest)
            assert await number(other) == 1
        else:
            await trio.sleep(1)
            other.close()

        assert await number(late) == 3
        await trio.sleep(1)
        assert (pool_of(plane).free, len(pool_of(plane))) == (100, 0)


async def test_a_client_that_holds_memory_and_sends_nothing_is_closed_as_idle(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    settings = ListenerSettings(processors=2, idle_s=10.0)
    async with running_plane(world, [echo], listener=settings, memory=100) as plane:
        holder, waiter = await crowd(world, plane, 2)
        await promise(holder, large(1))
        await trio.sleep(1)
        await waiter.send(large(2))

        assert await number(waiter) == 2
        assert plane.closed(CloseReason.IDLE) == 1
        assert pool_of(plane).figures()["depleted"] == 1
        assert pool_of(plane).depleted_s > 5


async def test_a_parked_request_holds_no_memory_of_the_pool(
    autojump_clock: MockClock,
) -> None:
    planes: list[RunningPlane] = []

    wait = delaying(planes, lambda timed_out: "time" if timed_out else None)

    world = simulated_world()
    async with running_plane(world, [echo, wait], memory=1) as plane:
        planes.append(plane)
        parked, other = await crowd(world, plane, 2)
        await parked.send(request_frame(WaitRequest(60_000), 0))
        await trio.sleep(1)
        assert pool_of(plane).free == 1

        await other.send(large(2))

        assert await number(other) == 2
        parked.close()


async def test_draining_closes_connections_that_wait_for_memory(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with running_plane(world, [echo], listener=SETTINGS, memory=100) as plane:
        holder, waiter = await crowd(world, plane, 2)
        await promise(holder, large(1))
        await trio.sleep(1)
        await waiter.send(large(2))
        await trio.sleep(1)

        assert await plane.plane.drain(trio.current_time() + 5)

        assert (pool_of(plane).free, len(pool_of(plane))) == (100, 0)


async def test_a_cancelled_plane_returns_all_memory_to_the_pool(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with running_plane(world, [echo], listener=SETTINGS, memory=100) as plane:
        clients = await crowd(world, plane, 6)
        for at, client in enumerate(clients):
            await promise(client, large(at))
            await trio.sleep(0.1)
        pool = pool_of(plane)
        assert (len(pool), muted(plane)) == (5, 5)
    assert (pool.free, len(pool)) == (100, 0)


async def test_a_frame_above_the_size_limit_takes_no_memory_and_closes_its_connection(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with running_plane(world, [echo], memory=100) as plane:
        async with connected(world, plane.endpoint) as client:
            await client.send(struct.pack(">i", 1 << 30))
            await client.wait_closed()
        assert plane.closed(CloseReason.BAD_FRAME) == 1
        assert pool_of(plane).free == 100


async def test_many_clients_on_real_sockets_are_served_with_a_small_memory_pool() -> None:
    world = RealWorld()
    async with running_plane(world, [echo], listener=SETTINGS, memory=40_000) as plane:
        clients = await crowd(world, plane, 30)
        data = b"".join(large(n, 30_000) for n in range(4))
        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                for client in clients:
                    nursery.start_soon(client.send, data)
                    nursery.start_soon(expect, client, [0, 1, 2, 3])
        pool = pool_of(plane)
        assert pool.free == 40_000
        assert pool.least > -31_000
        for client in clients:
            client.close()
        await until(lambda: not plane.connections)
