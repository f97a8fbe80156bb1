"""An accepted socket, and its place among the connections.

Whoever has the slot ends it: the acceptor until a processor takes it, the processor's channel, then
the connection. So a place is given back wherever a connection ends, and once.
"""

from typing import TYPE_CHECKING

import trio

from trio_kafka.quotas.connection import ListenerAccount, address_of
from trio_kafka.world.protocols import Socket

if TYPE_CHECKING:
    from trio_kafka.network.admission.gate import Gate
    from trio_kafka.network.connection import Connection


class Slot:
    """At the gate of its listener. connection: what a processor made of it, while that is open."""

    __slots__ = ("address", "connection", "entered", "gate", "since", "socket", "wait_s")

    def __init__(self, socket: Socket, gate: "Gate") -> None:
        self.socket = socket
        self.gate = gate
        self.address = address_of(socket.peer.host)
        self.since = trio.current_time()
        self.wait_s = 0.0  # before it may enter
        self.entered = False
        self.connection: Connection | None = None

    @property
    def account(self) -> ListenerAccount:
        return self.gate.account

    def close(self) -> None:
        """End the socket too. Idempotent."""
        self.socket.close()
        self.release()

    def release(self) -> None:
        """Give the place back; the socket is left to whoever closes it. Idempotent."""
        self.connection = None
        if self.entered:
            self.entered = False
            self.gate.leave(self)
