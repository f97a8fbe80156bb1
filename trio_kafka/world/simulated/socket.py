"""One end of a simulated connection.

Bytes travel by events of the run, in order. A lost packet is a delay, a cut link a delay until it
is healed. Bytes in flight and unread in one direction are bounded.
"""

import errno
from collections.abc import Callable
from typing import Final, Protocol

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.model import Endpoint
from trio_kafka.world.protocols import (
    BROKEN,
    CLOSED,
    PEER_DONE,
    READ,
    WRITE,
    Buffer,
    ColdRangeError,
    Lease,
    RangeCutError,
)
from trio_kafka.world.simulated.file import SimulatedLease
from trio_kafka.world.simulated.run import Machine

_RETRANSMISSION_S: Final = 0.2
_HOLD_S: Final = 0.2  # how long the kernel holds bytes sent with MSG_MORE
_GIVE_UP_S: Final = 924.6  # unanswered retransmissions: Linux, tcp_retries2=15


class EdgeReceiver(Protocol):
    """The selector that a socket is registered with."""

    def wake(self, key: int) -> None: ...

    def forget(self, socket: "MemorySocket") -> None: ...


@define(eq=False, kw_only=True)
class MemorySocket:
    """See `protocols.Socket`.

    under_way: bytes towards this end. held: bytes from this end, kept back by `send_more`.
    wants_room: a send was short or refused, so an edge is due.
    accepted: by a listener, so it counts as a descriptor. The end that dials does not: a world's
        clients may end with it, and what a server leaves open is its own end.
    gone: this end's machine has forgotten it. lost: half-open, nothing arrives any more.
    """

    world: Machine
    local: Endpoint
    peer: Endpoint
    send_buffer: int
    receive_buffer: int
    key: int = field(init=False)
    other: "MemorySocket" = field(init=False, repr=False)
    selector: EdgeReceiver | None = field(default=None, init=False)
    under_way: int = field(default=0, init=False)
    held: bytearray = field(factory=bytearray, init=False)
    wants_room: bool = field(default=False, init=False)
    gone: bool = field(default=False, init=False)
    lost: bool = field(default=False, init=False)
    accepted: bool = field(default=False, init=False)
    closed: bool = field(default=False, init=False)
    _changed: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot, init=False)
    arrived: int = field(default=0, init=False)  # bytes since the start
    _unread: bytearray = field(factory=bytearray, init=False)
    _last_arrival: float = field(default=0.0, init=False)  # of what this end has sent
    _ended: bool = field(default=False, init=False)  # the peer sends no more
    _shut: bool = field(default=False, init=False)  # this end sends no more
    _reset: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.key = self.world.take_key()
        self.world.sockets[self] = None

    def accept(self) -> None:
        """Count the socket as open: a listener of its machine has accepted it."""
        self.accepted = True
        self.world.descriptors.sockets += 1

    def mask(self) -> int:
        """Return the state as a mask of a selector."""
        if self._reset:
            return READ | WRITE | BROKEN | PEER_DONE
        mask = READ if self._unread or self._ended else 0
        if self._ended:
            mask |= PEER_DONE
        if self.other.room() > 0 and not self.wants_room:
            mask |= WRITE
        return mask

    @property
    def beneath(self) -> "MemorySocket":
        return self

    @property
    def more(self) -> bool:
        return False

    @property
    def kept(self) -> int:
        return 0

    def room(self) -> int:
        """Return how many bytes the peer may still send."""
        taken = len(self._unread) + self.under_way + len(self.other.held)
        return self._receive_room - taken

    @property
    def _receive_room(self) -> int:
        """Bytes that may be in flight and unread in this direction."""
        return self.receive_buffer + self.other.send_buffer

    def make_room(self, *, sending: int = 0, receiving: int = 0) -> None:
        self._call("make_room", (sending, receiving))
        self.send_buffer = sending or self.send_buffer
        self.receive_buffer = receiving or self.receive_buffer

    def check_open(self) -> None:
        if self.closed:
            raise OSError(errno.EBADF, "closed")

    def receive_into(self, buffer: bytearray | memoryview) -> int:
        self._call("receive")
        if self._reset:
            raise ConnectionResetError(errno.ECONNRESET, "reset by the peer")
        if not self._unread:
            if self._ended:
                return 0
            raise BlockingIOError(errno.EAGAIN, "nothing has arrived")
        size = min(len(buffer), len(self._unread))
        memoryview(buffer)[:size] = self._unread[:size]
        del self._unread[:size]
        # The kernel's rule: writable again when a third is free.
        if self.other.wants_room and self.room() * 3 >= self._receive_room:
            self.other.wants_room = False
            self._post(MemorySocket._edge)
        return size

    def send(self, data: Buffer) -> int:
        self._call("send", data)
        size = self._take(data)
        self._flush()
        return size

    def send_more(self, data: Buffer) -> int:
        self._call("send_more", data)
        size = self._take(data)
        self.world.universe.at(trio.current_time() + _HOLD_S, self._flush)
        return size

    def send_file_range(self, lease: Lease, start: int, limit: int) -> int:
        assert isinstance(lease, SimulatedLease)  # noqa: S101 - narrows: worlds are not mixed
        self._call("send_file_range", (start, limit))
        if lease.cut:
            raise RangeCutError
        if lease.is_cold(start, limit):
            raise ColdRangeError
        size = self._take(lease.content(start, limit))
        if size == 0:
            raise RangeCutError
        self._flush()
        return size

    def _call(self, call: str, data: object = None) -> None:
        try:
            self.world.call(call, str(self.peer), data)
        except ConnectionError:
            self.die(silent=False)
            raise
        self.check_open()

    def _take(self, data: Buffer) -> int:
        """Take bytes into the held ones; return how many."""
        if self._reset or self._shut:
            raise BrokenPipeError(errno.EPIPE, "the connection is gone")
        if not data:
            return 0
        universe = self.world.universe
        size = min(len(data), self.other.room())
        if size > 1 and universe.moody and universe.network_chance.random() < 0.02:
            size = universe.network_chance.randrange(1, size)
        if size < len(data):
            self.wants_room = True
        if size <= 0:
            raise BlockingIOError(errno.EAGAIN, "the peer has no room")
        self.held += memoryview(data)[:size]
        return size

    def _flush(self) -> None:
        if self.held and not self._reset:
            chunk = bytes(self.held)
            self.held.clear()
            self.other.under_way += len(chunk)
            self._post(lambda other: other.arrive(chunk))

    def arrive(self, chunk: bytes) -> None:
        self.under_way -= len(chunk)
        self.arrived += len(chunk)
        if self.closed:
            self.die(silent=False)
        else:
            self._unread += chunk
            self._edge()

    def _post(self, act: "Callable[[MemorySocket], None]") -> None:
        """Apply `act` to the other end, after all that was sent before."""
        universe = self.world.universe
        chance = universe.network_chance
        delay = universe.latency * chance.uniform(0.5, 1.5)
        if universe.moody and chance.random() < 0.01:
            delay += _RETRANSMISSION_S
        self._last_arrival = max(self._last_arrival, trio.current_time() + delay)
        universe.at(self._last_arrival, lambda: self._deliver(act))

    def _deliver(self, act: "Callable[[MemorySocket], None]") -> None:
        universe, other = self.world.universe, self.other
        if self.lost:
            universe.at(trio.current_time() + _GIVE_UP_S, self._give_up)
        elif not universe.linked(self.world.name, other.world.name):
            again = max(self._last_arrival, trio.current_time() + _RETRANSMISSION_S)
            universe.at(again, lambda: self._deliver(act))
        elif not other.gone:
            act(other)
        elif not self.gone and not universe.machines[other.world.name].dark:
            self.die(silent=True, from_peer=True)  # reset by a machine that lost it

    def lose(self) -> None:
        """Make the connection half-open."""
        self.lost = self.other.lost = True

    def _give_up(self) -> None:
        if not self.gone:
            self.die(silent=True, from_peer=True)

    def _edge(self) -> None:
        self._changed.unpark_all()
        if self.selector:
            self.selector.wake(self.key)

    def transferred(self) -> tuple[int, int]:
        self._call("transferred")
        return self.arrived, self.other.arrived

    def shutdown_write(self) -> None:
        self._call("shutdown")
        if self._reset:
            raise OSError(errno.ENOTCONN, "not connected")
        self._finish()

    def _finish(self) -> None:
        if not self._shut:
            self._flush()
            self._shut = True
            self._post(MemorySocket._end)

    def _end(self) -> None:
        self._ended = True
        self._edge()

    def die(self, *, silent: bool, from_peer: bool = False) -> None:
        """Reset the connection.

        silent: without a reset to the other end. from_peer: the other end has sent the reset.
        """
        if not silent and not self.gone:
            self._post(lambda other: other.die(silent=True, from_peer=True))
        self.gone = self._reset = True
        self.held.clear()
        self.world.sockets.pop(self, None)
        if from_peer:
            self._edge()

    def close(self) -> None:
        if self.closed:
            return
        self.world.call("close", str(self.peer))
        self._leave()
        if self._unread:
            self.die(silent=False)
        elif not self._reset:
            self._finish()

    def abort(self) -> None:
        if self.closed:
            return
        self.world.call("abort", str(self.peer))
        self._leave()
        if not self._reset:
            self.die(silent=False)

    def _leave(self) -> None:
        if self.selector:
            self.selector.forget(self)
        self.closed = True
        if self.other.closed:  # a crash does not concern a closed connection
            self.world.sockets.pop(self, None)
            self.other.world.sockets.pop(self.other, None)
        self.world.free_key(self.key)
        if self.accepted:
            self.world.descriptors.sockets -= 1
        self.key = CLOSED
        self._changed.unpark_all()

    async def wait_readable(self) -> None:
        await self._wait(READ)

    async def wait_writable(self) -> None:
        await self._wait(WRITE)

    async def _wait(self, want: int) -> None:
        await trio.lowlevel.checkpoint()
        while not self.closed and not self.mask() & (want | BROKEN):
            await self._changed.park()
        self.world.check()
        if self.closed:
            raise trio.ClosedResourceError
