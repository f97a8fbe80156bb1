"""Edge-triggered readiness of simulated sockets."""

import errno

import trio

from trio_kafka.world.protocols import READ, Socket
from trio_kafka.world.simulated.run import Machine
from trio_kafka.world.simulated.socket import MemorySocket


class MemorySelector:
    """See `protocols.Selector`. An edge makes a key ready; `poll` returns its present state."""

    def __init__(self, world: Machine) -> None:
        self._world = world
        self._sockets: dict[int, MemorySocket] = {}
        self._ready: dict[int, None] = {}
        self._lot = trio.lowlevel.ParkingLot()
        self._closed = False
        self.bell = world.take_key()
        world.descriptors.others += 2  # as many as a real one

    def ring(self) -> None:
        if not self._closed:
            self.wake(self.bell)

    def register(self, socket: Socket) -> None:
        assert isinstance(socket, MemorySocket)  # noqa: S101 - narrows: worlds are not mixed
        self._check()
        socket.check_open()
        if socket.key in self._sockets:
            raise FileExistsError(f"key {socket.key} is registered")
        self._sockets[socket.key] = socket
        socket.selector = self
        self.wake(socket.key)

    def unregister(self, socket: Socket) -> None:
        assert isinstance(socket, MemorySocket)  # noqa: S101 - narrows: worlds are not mixed
        self._check()
        socket.check_open()
        if self._sockets.get(socket.key) is not socket:
            raise FileNotFoundError(f"key {socket.key} is not registered")
        self.forget(socket)

    def forget(self, socket: MemorySocket) -> None:
        """Remove a socket."""
        del self._sockets[socket.key]
        self._ready.pop(socket.key, None)
        socket.selector = None

    def wake(self, key: int) -> None:
        """Note an edge."""
        self._ready[key] = None
        self._lot.unpark_all()

    def poll(self, timeout: float, limit: int) -> list[tuple[int, int]]:  # noqa: ARG002 - it never waits
        self._world.check()
        self._check()
        events = []
        for key in list(self._ready)[:limit]:
            del self._ready[key]
            if mask := READ if key == self.bell else self._sockets[key].mask():
                events.append((key, mask))
        return events

    async def wait(self) -> None:
        await trio.lowlevel.checkpoint()
        universe = self._world.universe
        spurious = universe.moody and universe.network_chance.random() < 0.01
        while not self._ready and not self._closed and not spurious:
            await self._lot.park()
        self._world.check()
        if self._closed:
            raise trio.ClosedResourceError

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            for socket in list(self._sockets.values()):
                self.forget(socket)
            self._world.free_key(self.bell)
            self._world.descriptors.others -= 2
            self._lot.unpark_all()

    def _check(self) -> None:
        if self._closed:
            raise OSError(errno.EBADF, "closed")
