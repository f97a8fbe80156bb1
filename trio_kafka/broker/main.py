"""A broker as a process: its loop, its signals, its exit status."""

import gc
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import trio

from trio_kafka.broker.errors import StartError
from trio_kafka.broker.run import running_broker
from trio_kafka.broker.storage import open_storage
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.errors import InvariantError, KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Node
from trio_kafka.log.manager import LogManager
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka.world.real.limits import raise_descriptor_limit

_logger: Final = get_logger(__name__)
STOPPED: Final = 0
NOT_STARTED: Final = 1
# 2 says that settings were refused; it is the command's.
BROKEN_INVARIANT: Final = 3
LOST_STORAGE: Final = 4
# What ends a broker, the gravest first: the kinds of errors, the exit status, the words.
_ENDS: Final = (
    (InvariantError, BROKEN_INVARIANT, "a broken invariant stopped the broker"),
    (LogDirError, LOST_STORAGE, "storage is lost"),
    ((StartError, KafkaError, OSError), NOT_STARTED, "the broker did not start"),
)


def serve(
    config: BrokerConfig,
    *,
    format_if_empty: bool,
    ready: Callable[[str], None] | None = None,
) -> int:
    """Run a broker until SIGTERM or SIGINT; a second one ends it at once. The exit status.

    ready: called with the bootstrap address when clients are served.
    """
    raise_descriptor_limit()
    clock = SkippingClock()

    async def run() -> int:
        async with (
            _signals() as stop,
            running_broker(config, RealWorld(clock), format_if_empty=format_if_empty) as broker,
        ):
            # What the start has made stays: collections look at what comes later only.
            gc.collect()
            gc.freeze()
            if ready is not None:
                ready(broker.bootstrap)
            await stop.wait()
        return STOPPED

    return _status(lambda: trio.run(run, clock=clock))


def format_directories(
    config: BrokerConfig, *, cluster_id: str | None, ignore_formatted: bool
) -> int:
    """Give empty data directories their identity and the metadata log they begin with."""
    clock = SkippingClock()

    async def run() -> int:
        logs = LogManager(RealWorld(clock), config.directories, Node("format", "part"))
        storage = await open_storage(
            RealWorld(clock),
            config,
            logs,
            format_if_empty=True,
            cluster_id=cluster_id,
            refuse_formatted=not ignore_formatted,
        )
        await logs.close()
        await storage.close(-1)
        _logger.info(
            "formatted",
            cluster=storage.identity.cluster_id,
            directories=",".join(config.directories),
        )
        return STOPPED

    return _status(lambda: trio.run(run, clock=clock))


@asynccontextmanager
async def _signals() -> AsyncIterator[trio.Event]:
    """An event that the first signal sets; the second one cancels the block."""
    stop = trio.Event()

    async def listen(*, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            task_status.started()
            async for number in signals:
                name = signal.Signals(number).name
                if stop.is_set():
                    _logger.warning("a second signal: the broker ends at once", signal=name)
                    nursery.cancel_scope.cancel()
                else:
                    _logger.info("stopping", signal=name)
                    stop.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(listen, name="signals")
        yield stop
        nursery.cancel_scope.cancel()


def _status(run: Callable[[], int]) -> int:
    """The exit status of what `run` does; where a failure stops, it is told here."""
    try:
        return run()
    except (Exception, BaseExceptionGroup) as error:
        leaves = _leaves(error)
        for kinds, status, told in _ENDS:
            found = [leaf for leaf in leaves if isinstance(leaf, kinds)]
            if found:
                for leaf in found:
                    _logger.error(told, reason=str(leaf))  # noqa: TRY400 - no traceback: told
                return status
        raise


def _leaves(error: BaseException) -> list[BaseException]:
    """The errors themselves, out of however many nurseries."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for one in error.exceptions for leaf in _leaves(one)]
