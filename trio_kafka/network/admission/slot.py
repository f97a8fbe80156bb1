"""A slot: an accepted socket and its place among the connections of the broker.

A slot belongs to the acceptor, then to its TLS handshake, the channel of a processor, and the
connection. Its last holder releases it, so the place is given back once, wherever a connection
ends.
"""

from typing import Protocol

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.network.reasons import CloseReason
from trio_kafka.quotas.connection import ListenerAccount, address_of
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.world.protocols import Socket


class SlotConnection(Protocol):
    """A connection or its handshake, as far as eviction needs it."""

    progress: float

    @property
    def ending(self) -> object: ...

    def close(self, reason: CloseReason) -> None: ...


class SlotHolder(Protocol):
    """The listener that a slot counts for."""

    account: ListenerAccount

    def enter_now(self, slot: "Slot") -> None: ...

    def leave(self, slot: "Slot") -> None: ...


@define(eq=False)
class Slot:
    """Slot of one socket.

    principal: of the client, as far as its socket knows it by a certificate.
    since, wait_s: when it arrived, and how long it must wait before it may enter.
    entered: it counts as a connection. connection: what can be evicted: the TLS handshake that is
        under way, then what a processor has made of it, while that is open.
    """

    socket: Socket
    holder: SlotHolder
    principal: Principal = field(default=NOBODY, init=False)
    address: str = field(init=False)
    since: float = field(factory=trio.current_time, init=False)
    wait_s: float = field(default=0.0, init=False)
    entered: bool = field(default=False, init=False)
    connection: SlotConnection | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.address = address_of(self.socket.peer.host)

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
