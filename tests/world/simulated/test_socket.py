"""Simulated connections: room, order and moods."""

import pytest
import trio

from trio_kafka.testing.simulation import run_simulated
from trio_kafka.world.simulated import Universe

pytestmark = pytest.mark.leaves("its sockets end with their machines")


async def pair(universe, **buffers):
    here, there = universe.machine("here"), universe.machine("there")
    listener = await here.network.listen("", 0, **buffers)
    far = await there.network.connect("here", listener.address.port, **buffers)
    return await listener.accept(), far


def test_send_takes_as_many_bytes_as_both_buffers_hold():
    async def main(universe):
        near, _ = await pair(universe, send_buffer=1000, receive_buffer=500)
        return near.send(bytes(10_000))

    assert run_simulated(main) == 1500


def test_socket_is_writable_again_when_a_third_of_its_room_is_free():
    async def main(universe):
        near, far = await pair(universe, send_buffer=200, receive_buffer=100)
        assert near.send(bytes(1000)) == 300
        await far.wait_readable()
        far.receive_into(bytearray(99))
        with trio.move_on_after(10) as early:
            await near.wait_writable()
        far.receive_into(bytearray(1))
        await near.wait_writable()
        return early.cancelled_caught, near.send(bytes(1000))

    assert run_simulated(main) == (True, 100)


def test_bytes_of_send_more_take_room_and_are_sent_after_200_ms():
    async def main(universe):
        near, far = await pair(universe, send_buffer=200, receive_buffer=100)
        start = trio.current_time()
        assert near.send_more(bytes(200)) == 200
        assert near.send_more(bytes(200)) == 100
        with pytest.raises(BlockingIOError):
            near.send(b"x")
        await far.wait_readable()
        return trio.current_time() - start

    assert 0.2 <= run_simulated(main) < 0.21


@pytest.mark.parametrize("seed", range(5))
def test_moody_universe_changes_the_timing_but_not_the_bytes_of_a_stream(seed):
    content = bytes(range(256)) * 1000

    async def main(universe):
        near, far = await pair(universe)
        received = bytearray()

        async def send():
            done = 0
            while done < len(content):
                await near.wait_writable()
                done += near.send(content[done : done + 5000])
            near.close()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            buffer = bytearray(3000)
            while True:
                await far.wait_readable()
                if not (size := far.receive_into(buffer)):
                    break
                received += buffer[:size]
        return bytes(received)

    assert run_simulated(main, seed, moody=True) == content


def test_moody_universe_makes_sends_short_despite_free_room():
    async def main(universe):
        near, _ = await pair(universe)
        return near.send(bytes(1000))

    assert {run_simulated(main, seed) for seed in range(100)} == {1000}
    assert len({run_simulated(main, seed, moody=True) for seed in range(200)}) > 1


def test_keys_of_closed_sockets_are_reused_as_descriptors_are():
    async def main(universe):
        near, _ = await pair(universe)
        key = near.key
        near.close()
        listener = await universe.machines["here"].network.listen("", 0)
        await universe.machines["there"].network.connect("here", listener.address.port)
        return key == (await listener.accept()).key

    assert run_simulated(main)


def test_closed_connections_are_forgotten():
    async def main(universe):
        near, far = await pair(universe)
        near.close()
        far.close()
        await trio.sleep(1)
        return [len(world.sockets) for world in universe.machines.values()]

    assert Universe().run(main) == [0, 0]
