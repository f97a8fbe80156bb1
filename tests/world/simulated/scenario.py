"""A small broker, its clients and a power loss: what was acknowledged is there in the next life.

Run as a program with a seed it prints the digest of the trace, for comparing processes.
"""

import sys
from contextlib import suppress

import trio

from trio_kafka.testing.simulation import run_until_crash
from trio_kafka.world.protocols import BROKEN, READ
from trio_kafka.world.simulated import SimulatedWorld, Universe

PORT = 9092
FRAME = 700


async def serve(world: SimulatedWorld, forgotten: str) -> None:
    """Append each frame, sync, and send it back. `forgotten`: the sync that is left out."""
    root = world.directory("/log", create=True)
    file = root.create("0.log")
    if forgotten != "directory":
        await root.sync()
    listener = await world.network.listen("", PORT)
    selector = world.network.selector()
    sockets, received = {}, {}

    async def accept():
        while True:
            socket = await listener.accept()
            sockets[socket.key], received[socket.key] = socket, bytearray()
            selector.register(socket)

    async def read():
        while True:
            await selector.wait()
            answers = []
            for key, mask in selector.poll(0, 64):
                if mask & (READ | BROKEN):
                    answers += [(key, frame) for frame in frames(sockets[key], received[key])]
            for _, frame in answers:
                file.append([frame])
            if answers and forgotten != "file":
                await file.sync()
            for key, frame in answers:
                with suppress(OSError):
                    sockets[key].send(frame)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(accept, name="acceptor")
        nursery.start_soon(read, name="processor")


def frames(socket, received):
    """The whole frames that have arrived."""
    buffer = bytearray(4096)
    with suppress(BlockingIOError, ConnectionError):
        while size := socket.receive_into(buffer):
            received += buffer[:size]
    while len(received) >= FRAME:
        yield bytes(received[:FRAME])
        del received[:FRAME]


async def talk(world: SimulatedWorld, name: str, acknowledged: list[bytes]) -> None:
    """Send frames one at a time and note each one that comes back."""
    await trio.sleep(0.05)
    with suppress(OSError):
        socket = await world.network.connect("broker", PORT)
        buffer = bytearray(FRAME)
        for number in range(1000):
            frame = f"{name}-{number:06}".encode().ljust(FRAME, b".")
            done = 0
            while done < FRAME:
                await socket.wait_writable()
                with suppress(BlockingIOError):
                    done += socket.send(frame[done:])
            done = 0
            while done < FRAME:
                await socket.wait_readable()
                done += socket.receive_into(buffer)
            acknowledged.append(frame)


async def power_loss(universe: Universe, forgotten: str = "") -> tuple[int, int]:
    """How many frames were acknowledged, and how many of them the disk has lost."""
    acknowledged: list[bytes] = []
    clients = universe.machine("clients")
    after = universe.time_chance.uniform(0.1, 0.5)
    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(talk, clients, f"c{number}", acknowledged, name=f"client-{number}")
        await run_until_crash(
            universe.machine("broker"), lambda world: serve(world, forgotten), after
        )
        nursery.cancel_scope.cancel()
    root = universe.machine("broker").directory("/log")
    content = b""
    if root.exists("0.log"):
        file = root.open("0.log")
        buffer = bytearray(file.size)
        await file.read(0, buffer)
        content = bytes(buffer)
    return len(acknowledged), sum(frame not in content for frame in acknowledged)


def digest(seed: object) -> str:
    universe = Universe(seed, moody=True)
    verdict = universe.run(power_loss)
    return f"{universe.digest:08x} {len(universe.trace)} {verdict}"


if __name__ == "__main__":
    print(digest(sys.argv[1]))
