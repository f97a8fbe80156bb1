"""The line of slots that wait for room, across all listeners: first come, first served."""

from collections import OrderedDict

import trio

from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.network.admission.slot import Slot
from trio_kafka.quotas.connection import ConnectionAccounts


class WaitingLine:
    """Slots that wait until there are fewer connections. Call `recheck` whenever that may be so."""

    def __init__(self, accounts: ConnectionAccounts) -> None:
        self._accounts = accounts
        self._line: OrderedDict[Slot, trio.Event] = OrderedDict()
        self._exceeded = trio.Event()

    def __len__(self) -> int:
        return len(self._line)

    async def wait_room(self, slot: Slot) -> None:
        """Wait behind the others until there is room, and the slot has entered."""
        event = self._line[slot] = trio.Event()
        try:
            await event.wait()
        finally:
            self._line.pop(slot, None)

    @waits_for_work("more connections than are allowed")
    async def wait_exceeded(self) -> None:
        """Wait until there are more connections than the broker may have."""
        while not self._accounts.excess:
            self._exceeded = trio.Event()
            await self._exceeded.wait()
        await trio.lowlevel.checkpoint()

    def recheck(self) -> None:
        """Let slots enter for which there is room; wake eviction if there are too many."""
        for slot, event in list(self._line.items()):
            if not slot.entered and self._accounts.has_room(slot.account):
                slot.holder.enter_now(slot)
                event.set()
        if self._accounts.excess:
            self._exceeded.set()
