"""Signal handling of a broker process: the first signal stops it, the second one ends
it at once.
"""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.log import get_logger

_logger: Final = get_logger(__name__)
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@define(eq=False)
class Stop:
    """Stop requests by signal.

    asked: set by the first signal. starting: scope that the first signal cancels unless the broker
    is `serving`, because an unfinished start has nothing to stop in order. at_once: a second signal
    came.
    """

    asked: trio.Event = field(factory=trio.Event)
    starting: trio.CancelScope = field(factory=trio.CancelScope)
    serving: bool = False
    at_once: bool = False


@asynccontextmanager
async def stop_signals() -> AsyncIterator[Stop]:
    """Handle SIGTERM and SIGINT while the block runs; the second signal cancels the block."""
    stop = Stop()

    async def listen(*, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(*SIGNALS) as signals:
            task_status.started()
            async for number in signals:
                name = signal.Signals(number).name
                if stop.asked.is_set():
                    _logger.warning("second signal received, ending at once", signal=name)
                    stop.at_once = True
                    nursery.cancel_scope.cancel()
                else:
                    _logger.info("signal received, stopping", signal=name)
                    stop.asked.set()
                    if not stop.serving:
                        stop.starting.cancel()

    async with trio.open_nursery() as nursery:
        await nursery.start(listen, name="signals")
        yield stop
        nursery.cancel_scope.cancel()
