"""Idle timeout: closes connections that neither ask nor read (connections.max.idle.ms).

When the broker stops, connections that read their answer too slowly are closed, too.

Nothing ticks while nothing is connected. The task sleeps until the connection that made progress
longest ago is due, and for at least a sixteenth of the timeout, so that many connections which time
out one by one are checked together.
"""

from typing import Final, NoReturn

import trio

from trio_kafka.network.connection import Connection
from trio_kafka.network.connection_table import ConnectionTable
from trio_kafka.network.reasons import CloseReason

SEND_S: Final = 2.0  # for the rest of an answer when the broker stops
_CHECK_S: Final = 0.25  # between two checks of unsent answers
_SLICE: Final = 1000  # connections between two checkpoints: about 0.2 ms


def is_idle(connection: Connection, before: float) -> bool:
    """Return whether a connection has made no progress since `before`.

    A connection that waits for an answer of the broker, or for room, is not idle.
    """
    if connection.progress > before or connection.closed:
        return False
    return connection.out is not None or not connection.muted


async def close_idle(table: ConnectionTable, idle_s: float) -> NoReturn:
    """Close the idle connections of one processor until cancelled."""
    while True:
        await table.wait_occupied()
        # The first connection may have closed before this task ran.
        progress = (connection.progress for connection in table.by_key.values())
        oldest = min(progress, default=trio.current_time())
        await trio.sleep_until(max(oldest + idle_s, trio.current_time() + idle_s / 16))
        before = trio.current_time() - idle_s
        for number, connection in enumerate(table.all(), start=1):
            if is_idle(connection, before):
                table.close(connection, CloseReason.IDLE)
            if not number % _SLICE:
                await trio.lowlevel.checkpoint()


async def close_slow_readers(table: ConnectionTable) -> NoReturn:
    """Close each connection of a draining processor whose answer takes longer than SEND_S to send.

    A peer that reads a byte now and then could otherwise delay a stop until its deadline. Requests
    in flight are not affected: their time begins with their answer. Runs until cancelled.
    """
    began = dict[int, float]()
    while True:
        now, sending = trio.current_time(), dict[int, float]()
        for number, connection in enumerate(table.all(), start=1):
            if connection.out is not None and not connection.closed:
                since = sending[connection.key] = began.get(connection.key, now)
                if now - since >= SEND_S:
                    table.close(connection, CloseReason.DRAINED, "reads too slowly")
            if not number % _SLICE:
                await trio.lowlevel.checkpoint()
        began = sending
        await trio.sleep(_CHECK_S)
