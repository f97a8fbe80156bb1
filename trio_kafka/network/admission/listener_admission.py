"""Admission of one listener's connections: rates, room, and limits of their addresses."""

from collections.abc import Callable
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.meter import Meter
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.network.admission.delayed_close import DelayedCloses
from trio_kafka.network.admission.slot import Slot
from trio_kafka.network.admission.waiting_line import WaitingLine
from trio_kafka.quotas.connection import ConnectionAccounts, ListenerAccount, bound_or_none, now_ms
from trio_kafka.world.protocols import Socket

logger: Final = get_logger(__name__)

# Reasons to refuse a connection; labels of the counter `connections_refused`.
TOO_MANY: Final = "too many of its address"
TOO_FAST: Final = "too fast from its address"
_LOG_S: Final = 1.0  # between two log lines: a storm is logged as a number


@define(eq=False)
class ListenerAdmission:
    """Admits connections in three steps: `arrive`, `enter` unless entered already, `admit`.

    slots: that have entered. blocked: seconds in which the acceptor waited though a connection was
        there (AcceptorBlockedPercent). closed: called when the listener and its last slot are gone.
    """

    name: str
    _accounts: ConnectionAccounts = field(kw_only=True)
    _line: WaitingLine = field(kw_only=True)
    _delayed: DelayedCloses = field(kw_only=True)
    _counters: Counters = field(kw_only=True)
    _node: Node = field(kw_only=True)
    _closed: Callable[["ListenerAdmission"], None] = field(kw_only=True)
    slots: dict[Slot, None] = field(factory=dict, init=False)
    blocked: Meter = field(factory=lambda: Meter(trio.current_time()), init=False)
    account: ListenerAccount = field(init=False)
    _open: bool = field(default=True, init=False)
    _logged: float = field(default=-_LOG_S, init=False)
    _unlogged: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.account = self._accounts.open(self.name)
        self._node = self._node.add(self.name, "part", self.figures)

    def arrive(self, socket: Socket) -> Slot:
        """Return the slot of an accepted socket, entered if it need not wait."""
        slot = Slot(socket, self)
        slot.wait_s = self._accounts.arrive(self.account, _now_ms()) / 1000
        if not slot.wait_s and self._accounts.has_room(self.account):
            self.enter_now(slot)
        return slot

    async def enter(self, slot: Slot) -> None:
        """Wait for as long as rates require, then until there is room."""
        await trio.sleep(slot.wait_s)
        if self._accounts.has_room(self.account):
            self.enter_now(slot)
        else:
            await self._line.wait_room(slot)

    def admit(self, slot: Slot) -> bool:
        """Return whether an entered slot may stay.

        If its address exceeds a limit, the socket is closed, now or after the delay that rates
        require.
        """
        delay_ms = self._accounts.delay_ms(self.account, slot.address, _now_ms())
        if delay_ms > 0:
            slot.release()
            self._delayed.add(slot.socket, trio.current_time() + delay_ms / 1000)
            self._refused(slot, TOO_FAST)
            return False
        if self._accounts.is_crowded(slot.address):
            slot.close()
            self._refused(slot, TOO_MANY)
            return False
        return True

    def enter_now(self, slot: Slot) -> None:
        """Count a slot until it is released."""
        slot.entered = True
        self.slots[slot] = None
        self._accounts.enter(self.account, slot.address)
        if self._accounts.excess:
            self._line.recheck()

    def leave(self, slot: Slot) -> None:
        """Count a slot no more."""
        del self.slots[slot]
        self._accounts.leave(self.account, slot.address)
        self._forget()
        self._line.recheck()

    def close(self) -> None:
        """End accepting; connections count until they close. Idempotent."""
        if self._open:
            self._open = False
            self._accounts.close(self.account)
            self._forget()
            self._line.recheck()

    def figures(self) -> Figures:
        account, now = self.account, _now_ms()
        bounds = account.bounds
        return {
            "connections": account.count,
            "max_connections": bound_or_none(bounds.connections),
            "max_connection_creation_rate": bound_or_none(bounds.rate),
            "AcceptorBlockedPercent": self.blocked.one_minute(trio.current_time()),
            "connection-accept-rate": account.rate.measure(now),
            "connection-accept-throttle-time": account.throttled.measure(now),
            "ip-connection-accept-throttle-time": account.refused.measure(now),
        }

    def _forget(self) -> None:
        if not (self._open or self.slots):
            self._closed(self)
            self._node.remove()

    def _refused(self, slot: Slot, reason: str) -> None:
        self._counters.add("connections_refused", listener=self.name, reason=reason)
        self._unlogged += 1
        now = trio.current_time()
        if now - self._logged >= _LOG_S:
            logger.info(
                "connection refused",
                peer=slot.address,
                listener=self.name,
                reason=reason,
                refused=self._unlogged,
            )
            self._logged, self._unlogged = now, 0


def _now_ms() -> int:
    return now_ms(trio.current_time())
