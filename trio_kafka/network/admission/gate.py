"""The gate of a listener: its connections, and who may become one of them."""

from typing import TYPE_CHECKING, Final

import trio

from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.meter import Meter
from trio_kafka.introspect.tree import Figures
from trio_kafka.network.admission.slot import Slot
from trio_kafka.quotas.connection import bound_or_none, now_ms
from trio_kafka.world.protocols import Socket

if TYPE_CHECKING:
    from trio_kafka.network.admission.limits import ConnectionLimits

logger: Final = get_logger(__name__)

# Why a connection was refused: a closed set, as they are labels of a counter.
TOO_MANY: Final = "too many of its address"
TOO_FAST: Final = "too fast from its address"
_TELL_S: Final = 1.0  # between two lines of the log: a storm is told as a number


class Gate:
    """Passed in three steps: `arrive`, `enter` where the slot has not entered yet, `admit`."""

    def __init__(self, limits: "ConnectionLimits", name: str) -> None:
        self.name = name
        self.account = limits.accounts.open(name)
        self.slots: dict[Slot, None] = {}
        # s in which its acceptor accepted nothing, though it might: AcceptorBlockedPercent
        self.blocked = Meter(trio.current_time())
        self._limits = limits
        self._accounts = limits.accounts
        self._node = limits.node.add(name, "part", self.figures)
        self._open = True
        self._told = -_TELL_S
        self._untold = 0

    def arrive(self, socket: Socket) -> Slot:
        """A socket was accepted: its slot, entered if it need not wait."""
        slot = Slot(socket, self)
        slot.wait_s = self._accounts.arrive(self.account, _now_ms()) / 1000
        if not slot.wait_s and self._accounts.has_room(self.account):
            self.let_in(slot)
        return slot

    async def enter(self, slot: Slot) -> None:
        """Wait until a slot may enter: as long as rates ask for, then until there is room."""
        await trio.sleep(slot.wait_s)
        if self._accounts.has_room(self.account):
            self.let_in(slot)
        else:
            await self._limits.wait_room(slot)

    def admit(self, slot: Slot) -> bool:
        """Whether a slot that entered may stay, for its address's sake; else its socket is closed,
        now or after the delay that rates ask for.
        """
        delay_ms = self._accounts.delay_ms(self.account, slot.address, _now_ms())
        if delay_ms > 0:
            slot.release()
            self._limits.held.add(slot.socket, trio.current_time() + delay_ms / 1000)
            self._refused(slot, TOO_FAST)
            return False
        if self._accounts.is_crowded(slot.address):
            slot.close()
            self._refused(slot, TOO_MANY)
            return False
        return True

    def let_in(self, slot: Slot) -> None:
        """Count a slot, from now until it is released."""
        slot.entered = True
        self.slots[slot] = None
        self._accounts.enter(self.account, slot.address)
        if self._accounts.excess:
            self._limits.look_again()

    def leave(self, slot: Slot) -> None:
        """Its place is somebody else's."""
        del self.slots[slot]
        self._accounts.leave(self.account, slot.address)
        self._forget()
        self._limits.look_again()

    def close(self) -> None:
        """The listener accepts no more; its connections count until they end. Idempotent."""
        if self._open:
            self._open = False
            self._accounts.close(self.account)
            self._forget()
            self._limits.look_again()

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
            self._limits.gates.remove(self)
            self._node.remove()

    def _refused(self, slot: Slot, reason: str) -> None:
        self._limits.counters.add("connections_refused", listener=self.name, reason=reason)
        self._untold += 1
        now = trio.current_time()
        if now - self._told >= _TELL_S:
            logger.info(
                "connection refused",
                peer=slot.address,
                listener=self.name,
                reason=reason,
                refused=self._untold,
            )
            self._told, self._untold = now, 0


def _now_ms() -> int:
    return now_ms(trio.current_time())
