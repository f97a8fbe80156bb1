"""Eviction: closes the least recently used connections above the limit of the broker.

There are too many after `max.connections` was lowered, or when a broker's connection entered though
all places were taken. Connections of the protected listener stay. A TLS handshake counts and is
closed like a connection. Source: Processor.closeExcessConnections of Apache Kafka 4.4.0, whose
selector has connections from their first byte on.
"""

import heapq
from collections.abc import Iterator, Sequence
from typing import Final, NoReturn

import trio

from trio_kafka.network.admission.listener_admission import ListenerAdmission
from trio_kafka.network.admission.slot import Slot
from trio_kafka.network.admission.waiting_line import WaitingLine
from trio_kafka.network.reasons import CloseReason
from trio_kafka.quotas.connection import ConnectionAccounts

_AT_ONCE: Final = 100  # closed between two checks
_SLICE: Final = 1000  # connections between two checkpoints
_RETRY_S: Final = 0.1  # when none could be closed: they wait for a processor, or are protected


async def close_excess(
    line: WaitingLine, accounts: ConnectionAccounts, listeners: Sequence[ListenerAdmission]
) -> NoReturn:
    """Close connections above the limit until cancelled."""
    while True:
        await line.wait_exceeded()
        if not await _close_some(accounts, listeners):
            await trio.sleep(_RETRY_S)


async def _close_some(accounts: ConnectionAccounts, listeners: Sequence[ListenerAdmission]) -> int:
    """Close some of those above the limit; return how many."""
    excess = min(_AT_ONCE, accounts.excess)
    oldest: list[tuple[float, int, Slot]] = []
    for slots in _slices(accounts, listeners):
        entries = (
            (_last_use(slot), id(slot), slot) for slot in slots if slot.connection is not None
        )
        oldest = heapq.nsmallest(excess, (*oldest, *entries))
        await trio.lowlevel.checkpoint()
    closed = 0
    for used, _, slot in oldest:
        connection = slot.connection
        # The connection may have closed, or been used, since.
        if connection is None or _last_use(slot) != used or not accounts.excess:
            continue
        connection.close(CloseReason.EXCEEDED)
        closed += 1
    return closed


def _slices(
    accounts: ConnectionAccounts, listeners: Sequence[ListenerAdmission]
) -> Iterator[list[Slot]]:
    for listener in list(listeners):
        if not accounts.is_protected(listener.account):
            slots = list(listener.slots)
            for begin in range(0, len(slots), _SLICE):
                yield slots[begin : begin + _SLICE]


def _last_use(slot: Slot) -> float:
    """Return when a connection last made progress; one that is closing goes first."""
    connection = slot.connection
    if connection is None or connection.ending is not None:
        return -1.0
    return connection.progress
