"""Closes who neither asks nor takes its answer (connections.max.idle.ms).

Nothing ticks while nothing is connected: the task sleeps until the connection that is quiet for
longest is due, and for at least a sixteenth of the limit, so that many connections that end one by
one cost one look together.
"""

from typing import TYPE_CHECKING, Final, NoReturn

import trio

from trio_kafka.network import items

if TYPE_CHECKING:
    from trio_kafka.network.connection import Connection
    from trio_kafka.network.processor import Processor

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
                processor.roster.close(connection, items.IDLE)
            if not number % _A_SLICE:
                await trio.lowlevel.checkpoint()
