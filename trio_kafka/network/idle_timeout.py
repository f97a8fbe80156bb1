"""Closes connections that neither ask nor take their answer (connections.max.idle.ms).

When the broker stops, it also closes those that take their answer too slowly.

Nothing ticks while nothing is connected: the task sleeps until the connection that is quiet for
longest is due, and for at least a sixteenth of the limit, so that many connections that end one by
one cost one look together.
"""

from typing import TYPE_CHECKING, Final, NoReturn

import trio

from trio_kafka.network import connection_events as events

if TYPE_CHECKING:
    from trio_kafka.network.connection import Connection
    from trio_kafka.network.processor import Processor

SEND_S: Final = 2.0  # for the rest of an answer when the broker stops
_LOOK_S: Final = 0.25  # between two looks at what is still sent
_A_SLICE: Final = 1000  # connections looked at in one go: about 0.2 ms


def is_idle(connection: "Connection", before: float) -> bool:
    """It made no progress since `before`. Who waits for our answer, or for room, is not idle."""
    if connection.progress > before or connection.closed:
        return False
    return connection.out is not None or not connection.muted


async def close_idle(processor: "Processor") -> NoReturn:
    """Close the idle connections of one processor until cancelled."""
    idle_s = processor.listener.idle_s
    while True:
        await processor.roster.wait_occupied()
        # The first one may have left again while this task was on its way.
        progress = (connection.progress for connection in processor.connections.values())
        oldest = min(progress, default=trio.current_time())
        await trio.sleep_until(max(oldest + idle_s, trio.current_time() + idle_s / 16))
        before = trio.current_time() - idle_s
        for number, connection in enumerate(list(processor.connections.values()), start=1):
            if is_idle(connection, before):
                processor.roster.close(connection, events.IDLE)
            if not number % _A_SLICE:
                await trio.lowlevel.checkpoint()


async def close_slow_readers(processor: "Processor") -> NoReturn:
    """Close each connection of a draining processor whose answer takes longer than SEND_S to send.

    A peer that reads a byte now and then could otherwise hold a stop until its deadline. Requests
    that are still in hand are not affected: their time begins with their answer. Until cancelled.
    """
    began = dict[int, float]()
    while True:
        now, sending = trio.current_time(), dict[int, float]()
        for number, connection in enumerate(list(processor.connections.values()), start=1):
            if connection.out is not None and not connection.closed:
                since = sending[connection.key] = began.get(connection.key, now)
                if now - since >= SEND_S:
                    processor.roster.close(connection, events.DRAINED, "reads too slowly")
            if not number % _A_SLICE:
                await trio.lowlevel.checkpoint()
        began = sending
        await trio.sleep(_LOOK_S)
