"""The line of slots that wait for room."""

from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from trio_kafka.network.admission.slot import Slot
from trio_kafka.network.admission.waiting_line import WaitingLine
from trio_kafka.quotas.connection import ConnectionAccounts, ConnectionBounds


class Holder:
    """A listener whose slots enter in the order that it notes."""

    def __init__(self, accounts: ConnectionAccounts) -> None:
        self.accounts = accounts
        self.account = accounts.open("PLAINTEXT")
        self.entered: list[Any] = []

    def enter_now(self, slot: Slot) -> None:
        slot.entered = True
        self.accounts.enter(self.account, "10.0.0.1")
        self.entered.append(slot)

    def leave(self, slot: Slot) -> None:
        raise AssertionError(slot)


class WaitingSlot:
    """A slot, as far as the line is concerned."""

    entered = False

    def __init__(self, holder: Holder) -> None:
        self.holder = holder
        self.account = holder.account


async def test_slots_enter_in_the_order_in_which_they_began_to_wait(nursery: trio.Nursery) -> None:
    accounts = ConnectionAccounts()
    accounts.obey(ConnectionBounds(connections=0))
    holder, line = Holder(accounts), WaitingLine(accounts)
    slots: list[Any] = [WaitingSlot(holder) for _ in range(3)]
    for slot in slots:
        nursery.start_soon(line.wait_room, slot)
        await wait_all_tasks_blocked()
    assert len(line) == 3

    accounts.obey(ConnectionBounds(connections=2))
    line.recheck()
    await wait_all_tasks_blocked()

    assert holder.entered == slots[:2]
    assert len(line) == 1
    nursery.cancel_scope.cancel()


async def test_wait_exceeded_returns_at_the_recheck_after_the_limit_was_lowered(
    nursery: trio.Nursery,
) -> None:
    accounts = ConnectionAccounts()
    holder, line = Holder(accounts), WaitingLine(accounts)
    for _ in range(2):
        holder.enter_now(WaitingSlot(holder))  # type: ignore[arg-type]
    noticed: list[str] = []

    async def wait() -> None:
        await line.wait_exceeded()
        noticed.append("exceeded")

    nursery.start_soon(wait)
    await wait_all_tasks_blocked()
    assert noticed == []

    accounts.obey(ConnectionBounds(connections=1))
    line.recheck()
    await wait_all_tasks_blocked()
    assert noticed == ["exceeded"]
