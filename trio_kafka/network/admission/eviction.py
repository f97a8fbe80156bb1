"""Closes the least recently used connections when there are more than the broker may have.

That is so when a broker's connection was let in though all places were taken, and when
`max.connections` was lowered. Connections of the protected listener stay.
"""

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NoReturn

import trio

from trio_kafka.network import connection_events as events
from trio_kafka.network.admission.slot import Slot

if TYPE_CHECKING:
    from trio_kafka.network.admission.limits import ConnectionLimits

_AT_ONCE: Final = 100  # closed in one go
_A_SLICE: Final = 1000  # connections looked at in one go
_AGAIN_S: Final = 0.1  # when nothing could be closed: some wait for their processor, or all stay


async def close_excess(limits: "ConnectionLimits") -> NoReturn:
    """Until cancelled."""
    while True:
        await limits.wait_exceeded()
        if not await _close_some(limits):
            await trio.sleep(_AGAIN_S)


async def _close_some(limits: "ConnectionLimits") -> int:
    """Close some of those that are above the limit; how many were."""
    excess = min(_AT_ONCE, limits.accounts.excess)
    oldest: list[tuple[float, int, Slot]] = []
    for slots in _slices(limits):
        found = ((_used(slot), id(slot), slot) for slot in slots if slot.connection is not None)
        oldest = heapq.nsmallest(excess, (*oldest, *found))
        await trio.lowlevel.checkpoint()
    closed = 0
    for used, _, slot in oldest:
        connection = slot.connection
        # It may have ended, or worked, while others were looked at.
        if connection is None or _used(slot) != used or not limits.accounts.excess:
            continue
        connection.processor.roster.close(connection, events.EXCEEDED)
        closed += 1
    return closed


def _slices(limits: "ConnectionLimits") -> Iterator[list[Slot]]:
    for gate in list(limits.gates):
        if not limits.accounts.is_protected(gate.account):
            slots = list(gate.slots)
            for begin in range(0, len(slots), _A_SLICE):
                yield slots[begin : begin + _A_SLICE]


def _used(slot: Slot) -> float:
    """When a connection last asked or took something; one that is about to end goes first."""
    connection = slot.connection
    if connection is None or connection.ending is not None:
        return -1.0
    return connection.progress
