"""The broker as a process: event loop, world, signals and exit status."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import trio

from trio_kafka.broker.collector import long_lived_frozen
from trio_kafka.broker.exit_status import ENDED_AT_ONCE, STOPPED, exit_status_of
from trio_kafka.broker.run import Broker
from trio_kafka.broker.running_broker import RunningBroker
from trio_kafka.broker.signals import stop_signals
from trio_kafka.broker.storage import open_storage
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Node
from trio_kafka.log.files.open_files import budget_of
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.protocol.stored.metadata.security import UserScramCredentialRecord
from trio_kafka.world.real import RealWorld
from trio_kafka.world.real.clock import MachineClock
from trio_kafka.world.real.process import end_process, raise_descriptor_limit
from trio_kafka.world.world import World

_logger: Final = get_logger(__name__)


def this_machine(descriptors: int) -> RealWorld:
    """Return the world of a broker in production. descriptors: limit of the process."""
    return RealWorld(MachineClock(), descriptors=descriptors)


def serve(
    config: BrokerConfig,
    *,
    format_if_empty: bool,
    ready: Callable[[RunningBroker], None] | None = None,
    machine: Callable[[int], RealWorld] = this_machine,
) -> int:
    """Run a broker until SIGTERM, SIGINT or SIGHUP and return the exit status.

    A second SIGTERM or SIGINT ends it at once. SIGHUP stays ignored if it was so at the start.

    ready: called when clients are served. machine: returns the world, for a limit of descriptors.
    """
    limit = raise_descriptor_limit()
    world = machine(limit)
    clock = world.clock

    async def run() -> int:
        async with stop_signals() as stop:
            with stop.starting:
                async with Broker(
                    config,
                    world,
                    format_if_empty=format_if_empty,
                    open_files=budget_of(limit),
                    abandoned=partial(end_process, STOPPED),
                ) as broker:
                    stop.serving = True
                    with (
                        long_lived_frozen(clock.elapsed) as collector,
                        broker.node.child("collector", "part", collector.figures),
                    ):
                        if ready is not None:
                            ready(broker)
                        await stop.requested.wait()
        return ENDED_AT_ONCE if stop.at_once else STOPPED

    return exit_status_of(lambda: trio.run(run, clock=clock))


def format_directories(
    config: BrokerConfig,
    *,
    cluster_id: str | None,
    ignore_formatted: bool,
    users: Sequence[UserScramCredentialRecord] = (),
    formatted: Callable[[str], None] | None = None,
) -> int:
    """Format empty data directories: their identity and the initial metadata log. Returns the exit
    status.

    cluster_id: None: a new one. users: those of a new cluster.
    formatted: called with the cluster id at the end.
    """
    clock = MachineClock()

    async def run() -> int:
        world = RealWorld(clock)
        report = await format_in(
            world, config, cluster_id=cluster_id, ignore_formatted=ignore_formatted, users=users
        )
        if formatted is not None:
            formatted(report)
        return STOPPED

    return exit_status_of(lambda: trio.run(run, clock=clock), refused="nothing was formatted")


async def format_in(
    world: World,
    config: BrokerConfig,
    *,
    cluster_id: str | None,
    ignore_formatted: bool,
    users: Sequence[UserScramCredentialRecord] = (),
) -> str:
    """Format directories in any World, and return the cluster id. Raises StartError."""
    logs = LogManager(world, config.directories, Node("format", "part"))
    try:
        storage = await open_storage(
            world,
            config,
            logs,
            format_if_empty=True,
            cluster_id=cluster_id,
            refuse_formatted=not ignore_formatted,
            users=users,
        )
    finally:
        # Do not close the log manager: it loaded nothing, and its empty checkpoints would replace
        # the existing ones.
        logs.abandon()
    storage.abandon()
    _logger.info(
        "directories formatted",
        cluster=storage.identity.cluster_id,
        directories=",".join(config.directories),
    )
    return storage.identity.cluster_id
