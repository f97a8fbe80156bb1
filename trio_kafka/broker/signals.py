"""Signal handling of a broker process: the first signal stops it, a second SIGTERM or SIGINT ends
it at once.

SIGHUP, from a terminal that closes, is an orderly stop, as in Kafka, whose JVM runs the same hooks
for it. It never ends a broker at once: a terminal sends it twice, and systemd may send it right
after SIGTERM. A process that was started with SIGHUP ignored, as by nohup, leaves it so.
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
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)  # a second one of these ends at once


@define(eq=False, kw_only=True)
class Stop:
    """Stop requests by signal.

    requested: set by the first signal. starting: scope that the first signal cancels unless the
    broker is `serving`, because an unfinished start has nothing to stop in order. at_once: a second
    SIGTERM or SIGINT came.
    """

    requested: trio.Event = field(factory=trio.Event)
    starting: trio.CancelScope = field(factory=trio.CancelScope)
    serving: bool = False
    at_once: bool = False


@asynccontextmanager
async def stop_signals() -> AsyncIterator[Stop]:
    """Handle SIGTERM, SIGINT and SIGHUP while the block runs.

    The second SIGTERM or SIGINT cancels the block.
    """
    stop = Stop()
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    handled = SIGNALS if ignored else (*SIGNALS, signal.SIGHUP)

    async def listen(*, task_status: trio.TaskStatus[None]) -> None:
        stopping = False  # by one of SIGNALS
        with trio.open_signal_receiver(*handled) as signals:
            task_status.started()
            async for number in signals:
                name = signal.Signals(number).name
                again, stopping = stopping and number in SIGNALS, stopping or number in SIGNALS
                if again:
                    _logger.warning("second signal received, ending at once", signal=name)
                    stop.at_once = True
                    nursery.cancel_scope.cancel()
                elif not stop.requested.is_set():
                    _logger.info("signal received, stopping", signal=name)
                    stop.requested.set()
                    if not stop.serving:
                        stop.starting.cancel()

    async with trio.open_nursery() as nursery:
        await nursery.start(listen, name="signals")
        yield stop
        nursery.cancel_scope.cancel()
