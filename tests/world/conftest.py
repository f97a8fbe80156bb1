"""All worlds behind one fixture, so that one suite holds them to one contract."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
import trio
from attrs import define, field

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.in_memory import InMemoryWorld
from trio_kafka.world.protocols import Directory, File, Listener, Selector, Socket
from trio_kafka.world.real import RealWorld
from trio_kafka.world.simulated import Universe
from trio_kafka.world.world import World

T = TypeVar("T")


@define(kw_only=True)
class Worlds:
    """`here`, where the test's servers and files are, and `there`, the world of the other end."""

    here: World
    there: World
    root: Directory
    path: str
    host: str
    chill: Callable[..., None]  # file, position from which it goes cold
    opened: list[Any] = field(factory=list)

    def closed_at_the_end(self, thing: T) -> T:
        """`thing` itself."""
        self.opened.append(thing)
        return thing

    def selector(self) -> Selector:
        return self.closed_at_the_end(self.here.network.selector())

    def create(self, name: str, *content: bytes) -> File:
        file = self.closed_at_the_end(self.root.create(name))
        if content:
            file.append(content)
        return file

    async def listener(self, **buffers: Any) -> Listener:
        return self.closed_at_the_end(await self.here.network.listen(self.host, 0, **buffers))

    async def connect(self, listener: Listener, **buffers: Any) -> Socket:
        port = listener.address.port
        return self.closed_at_the_end(await self.there.network.connect(self.host, port, **buffers))

    async def accept(self, listener: Listener) -> Socket:
        return self.closed_at_the_end(await listener.accept())

    async def pair(self, **buffers: Any) -> tuple[Socket, Socket]:
        """A connection's end here and its end there."""
        listener = await self.listener(**buffers)
        far = await self.connect(listener, **buffers)
        near = await self.accept(listener)
        listener.close()
        return near, far

    async def registered(self, **buffers: Any) -> tuple[Socket, Socket, Selector]:
        """A pair whose end here is in a selector that has reported the state at the beginning."""
        near, far = await self.pair(**buffers)
        selector = self.selector()
        selector.register(near)
        await self.edges(selector, 0x4)
        return near, far, selector

    async def edges(self, selector: Selector, want: int) -> int:
        """All masks until one has every bit of `want`."""
        seen = 0
        with trio.fail_after(30):
            while seen & want != want:
                await selector.wait()
                for _, mask in selector.poll(0, 64):
                    seen |= mask
        return seen

    async def receive(self, socket: Socket, size: int) -> bytes:
        """Exactly `size` bytes."""
        received, buffer = b"", bytearray(1 << 16)
        with trio.fail_after(30):
            while len(received) < size:
                await socket.wait_readable()
                count = socket.receive_into(memoryview(buffer)[: size - len(received)])
                assert count, f"the end after {len(received)} of {size} bytes"
                received += buffer[:count]
        return received


@pytest.fixture(params=["real", "in memory", "simulated"])
def clock(request) -> SkippingClock:
    """Asked for by every test, so that pytest-trio gives it to `trio.run`."""
    return SkippingClock(virtual=request.param == "simulated")


@pytest.fixture
async def worlds(clock, request, tmp_path):
    if request.node.callspec.params["clock"] == "real":
        world = RealWorld(clock)
        path = str(tmp_path)
        kit = Worlds(
            here=world,
            there=world,
            root=world.directory(path),
            path=path,
            host="127.0.0.1",
            chill=chill_real,
        )
    elif request.node.callspec.params["clock"] == "in memory":
        memory = InMemoryWorld(clock)
        kit = Worlds(
            here=memory,
            there=memory,
            root=memory.directory(str(tmp_path), create=True),
            path=str(tmp_path),  # programs need a real directory
            host="127.0.0.1",
            chill=lambda file, position=0: file.chill(position),
        )
    else:
        universe = Universe(0)
        here = universe.machine("here")
        kit = Worlds(
            here=here,
            there=universe.machine("there"),
            root=here.directory("/data", create=True),
            path="/data",
            host="here",
            chill=lambda file, position=0: file.chill(position),
        )
    yield kit
    for thing in reversed(kit.opened):
        thing.close()


def chill_real(file: File, position: int = 0) -> None:
    """Ask the kernel to forget the file's pages but the first ones; all must be clean."""
    lease = file.lease(file.size)
    os.posix_fadvise(lease.key, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(lease.key, 0, 0, os.POSIX_FADV_RANDOM)  # no reading ahead
    os.pread(lease.key, position, 0)
    lease.release()
