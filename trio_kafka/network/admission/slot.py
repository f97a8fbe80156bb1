"""A slot: an accepted socket and its place among the connections of the broker.

A slot belongs to the acceptor, then to the channel of a processor, then to the connection. Its last
holder releases it, so the place is given back once, wherever a connection ends.
"""

from typing import Protocol

import trio

from trio_kafka.network.reasons import CloseReason
from trio_kafka.quotas.connection import ListenerAccount, address_of
from trio_kafka.world.protocols import Socket


class SlotConnection(Protocol):
    """A connection, as far as eviction needs it."""

    progress: float

    @property
    def ending(self) -> object: ...

    def close(self, reason: CloseReason) -> None: ...


class SlotHolder(Protocol):
    """The listener that a slot counts for."""

    account: ListenerAccount

    def enter_now(self, slot: "Slot") -> None: ...

    def leave(self, slot: "Slot") -> None: ...


class Slot:
    """Slot of one socket.

    since, wait_s: when it arrived, and how long it must wait before it may enter.
    entered: it counts as a connection. connection: made of it by a processor, while that is open.
    """

    __slots__ = ("address", "connection", "entered", "holder", "since", "socket", "wait_s")

    def __init__(self, socket: Socket, holder: SlotHolder) -> None:
        self.socket = socket
        self.holder = holder
        self.address = address_of(socket.peer.host)
        self.since = trio.current_time()
        self.wait_s = 0.0
        self.entered = False
        self.connection: SlotConnection | None = None

    @property
    def account(self) -> ListenerAccount:
        return self.holder.account

    def close(self) -> None:
        """Close the socket and release the slot. Idempotent."""
        self.socket.close()
        self.release()

    def release(self) -> None:
        """Give the place back; the socket stays open. Idempotent."""
        self.connection = None
        if self.entered:
            self.entered = False
            self.holder.leave(self)
