"""Listeners and connections between simulated machines.

A host is the name of a machine, a name that a machine listens on, or loopback. A packet to a
machine that is off, cut off, or has a full backlog is repeated for 127 s, as Linux does.
"""

import errno
from collections import deque
from contextlib import suppress
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.model import Endpoint
from trio_kafka.world.protocols import CLOSED
from trio_kafka.world.simulated.run import Machine
from trio_kafka.world.simulated.selector import MemorySelector
from trio_kafka.world.simulated.socket import MemorySocket

_EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - all interfaces
_LOOPBACK_ADDRESS: Final = "127.0.0.1"
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_FIRST_PORT: Final = 40_000
_ATTEMPTS: Final = 7  # after 1, 2, 4, ... s: 127 s in all


@define(eq=False, kw_only=True)
class MemoryListener:
    """See `protocols.Listener`. There is no descriptor: `key` is -1."""

    world: Machine
    address: Endpoint
    _backlog: int
    send_room: int
    receive_room: int
    key: int = field(default=-1, init=False)
    _waiting: deque[MemorySocket] = field(factory=deque, init=False)
    _lot: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot, init=False)
    _closed: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.world.descriptors.others += 1

    @property
    def full(self) -> bool:
        return len(self._waiting) > self._backlog

    def put(self, socket: MemorySocket) -> None:
        """Queue a connection to be accepted."""
        self._waiting.append(socket)
        self._lot.unpark()

    def accept_nowait(self) -> MemorySocket:
        self.world.call("accept", str(self.address))
        if self._closed:
            raise OSError(errno.EBADF, "closed")
        if not self._waiting:
            raise BlockingIOError(errno.EAGAIN, "no connection is waiting")
        socket = self._waiting.popleft()
        socket.accept()
        return socket

    async def accept(self) -> MemorySocket:
        await trio.lowlevel.checkpoint()
        while True:
            while not self._waiting and not self._closed:
                await self._lot.park()
            self.world.check()
            if self._closed:
                raise trio.ClosedResourceError
            with suppress(BlockingIOError):
                return self.accept_nowait()

    def close(self) -> None:
        """Close. Connections that were not accepted are reset."""
        if self._closed:
            return
        self.world.call("close_listener", str(self.address))
        self._closed, self.key = True, CLOSED
        self.world.descriptors.others -= 1
        self.world.listeners.pop((self.address.host, self.address.port), None)
        for socket in self._waiting:
            socket.abort()
        self._lot.unpark_all()


class SimulatedNetwork:
    """See `protocols.Network`. The default buffers are half of the universe's room each."""

    def __init__(self, world: Machine) -> None:
        self._world = world
        self._next_port = _FIRST_PORT

    async def host_name(self) -> str:
        await trio.lowlevel.checkpoint()
        return self._world.name

    async def addresses(self, host: str) -> list[str]:
        await trio.lowlevel.checkpoint()
        if host in self._world.universe.names:
            return list(self._world.universe.names[host])
        if self._machine(host, 0) is None:
            raise OSError(errno.ENOENT, f"no machine is named {host}")
        return [self._world.name if host in _LOOPBACK else host]

    async def canonical_name(self, address: str) -> str:
        await trio.lowlevel.checkpoint()
        return address

    def selector(self) -> MemorySelector:
        return MemorySelector(self._world)

    async def listen(
        self,
        host: str,
        port: int,
        backlog: int = 128,
        *,
        send_buffer: int | None = None,
        receive_buffer: int | None = None,
        largest_buffer: int = 0,
    ) -> MemoryListener:
        del largest_buffer  # every simulated buffer may grow
        await trio.lowlevel.checkpoint()
        self._world.call("listen", f"{host}:{port}")
        host = "" if host in _EVERYWHERE else host
        port = port or self._free_port()
        for taken, number in self._world.listeners:
            if number == port and (taken == host or not taken or not host):
                raise OSError(errno.EADDRINUSE, f"port {port} is in use")
        half = self._world.universe.room // 2
        listener = MemoryListener(
            world=self._world,
            address=Endpoint(host, port),
            backlog=backlog,
            send_room=half if send_buffer is None else send_buffer,
            receive_room=half if receive_buffer is None else receive_buffer,
        )
        self._world.listeners[host, port] = listener
        return listener

    def _free_port(self) -> int:
        self._next_port += 1
        return self._next_port

    def _named(self, host: str) -> str:
        """Return the first host in the place of a name that stands for several."""
        return next(iter(self._world.universe.names.get(host, ())), host)

    def _machine(self, host: str, port: int) -> Machine | None:
        """Return the machine that has a host."""
        machines = self._world.universe.machines
        if host in _LOOPBACK or host in _EVERYWHERE:
            return self._world
        if host in machines:
            return machines[host]
        for world in machines.values():
            if (host, port) in world.listeners:
                return world
        return None

    async def connect(
        self,
        host: str,
        port: int,
        *,
        send_buffer: int | None = None,
        receive_buffer: int | None = None,
    ) -> MemorySocket:
        self._world.call("connect", f"{host}:{port}")
        world, universe = self._world, self._world.universe
        for attempt in range(_ATTEMPTS):
            await world.pause(universe.latency, 2 * universe.latency)
            host = self._named(host)
            machine = self._machine(host, port)
            if machine is None:
                raise ConnectionRefusedError(errno.ECONNREFUSED, f"no machine is named {host}")
            linked = universe.linked(world.name, machine.name) and universe.linked(
                machine.name, world.name
            )
            if not machine.dark and linked:
                listener = machine.listeners.get((host, port)) or machine.listeners.get(("", port))
                if listener is None:
                    raise ConnectionRefusedError(errno.ECONNREFUSED, "no listener")
                if not listener.full:
                    return self._connected(
                        Endpoint(host, port), listener, send_buffer, receive_buffer=receive_buffer
                    )
            await trio.sleep(2.0**attempt)
        raise TimeoutError(errno.ETIMEDOUT, f"no answer from {host}:{port}")

    def _connected(
        self,
        peer: Endpoint,
        listener: MemoryListener,
        send_buffer: int | None,
        *,
        receive_buffer: int | None,
    ) -> MemorySocket:
        half = self._world.universe.room // 2
        send_room = half if send_buffer is None else send_buffer
        receive_room = half if receive_buffer is None else receive_buffer
        # As on a real machine, a connection to loopback comes from loopback.
        host = _LOOPBACK_ADDRESS if peer.host in _LOOPBACK else self._world.name
        local = Endpoint(host, self._free_port())
        near = MemorySocket(
            world=self._world,
            local=local,
            peer=peer,
            send_buffer=send_room,
            receive_buffer=receive_room,
        )
        far = MemorySocket(
            world=listener.world,
            local=peer,
            peer=local,
            send_buffer=listener.send_room,
            receive_buffer=listener.receive_room,
        )
        near.other, far.other = far, near
        listener.put(far)
        return near
