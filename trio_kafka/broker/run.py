"""One broker as a context manager: it serves while the block runs, and stops in order after it."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Final

import trio

from trio_kafka.broker.broker import Broker
from trio_kafka.broker.errors import StartError
from trio_kafka.broker.shutdown import stop_broker
from trio_kafka.broker.site import Site
from trio_kafka.broker.startup.descriptors import check_descriptors
from trio_kafka.broker.startup.startup import Start
from trio_kafka.broker.tasks import Tasks
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.errors import only_leaf
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Node
from trio_kafka.log.files.open_files import SMALLEST
from trio_kafka.plugin_host.declared import Plugin
from trio_kafka.requests.registry import InstalledApiError, Registry, installed_apis
from trio_kafka.world.world import World

_logger: Final = get_logger(__name__)
STOP_S: Final = 30.0


@asynccontextmanager
async def running_broker(
    config: BrokerConfig,
    world: World,
    *,
    format_if_empty: bool = False,
    apis: Registry | None = None,
    plugins: Sequence[Plugin] | None = None,
    stop_s: float = STOP_S,
    open_files: int = SMALLEST,
    left_behind: Callable[[], object] | None = None,
) -> AsyncIterator[Broker]:
    """A broker that has started. It stops in order, also when the block raises or a part fails.

    A part that fails cancels the block; what failed is raised once the broker has stopped.
    Cancelled, the broker ends at once, and recovers at its next start.

    apis, plugins: its own; None: those that are installed. stop_s: the deadline of the stop.
    open_files: how many files of sealed segments are open at most.
    left_behind: called when all has stopped but plugins that do not end; without it, or when it
    returns, their end is waited for.
    Raises StartError, KafkaError, and what ends a broker: LogDirError, InvariantError, or whatever
    a part fails with.
    """
    check_descriptors(world.descriptors)
    node = Node(f"broker-{config.node_id}", "broker")
    # What plugins add is this broker's alone.
    registry = _installed() if apis is None else apis.copy()
    if config.unstable_api_versions_enable:
        registry = registry.with_unstable()
    raised: Exception | None = None
    with ExitStack() as held:
        async with trio.open_nursery() as nursery:
            tasks = Tasks(nursery)
            site = Site(world=world, config=config, node=node, tasks=tasks)
            start = Start(
                site=site,
                apis=registry,
                plugins=plugins,
                format_if_empty=format_if_empty,
                open_files=open_files,
            )
            # Given back when no task is left: one that still ran would open its files again.
            held.callback(start.abandon)
            broker: Broker | None = None
            try:
                with tasks.guard:
                    broker = await start.run()
                    _tell_started(broker)
                    yield broker
            except Exception as error:  # noqa: BLE001 - raised below, when all has stopped
                raised = only_leaf(error) if broker is None else error
            if broker is not None:
                await stop_broker(broker, stop_s)
                if broker.plugins.left_behind and left_behind is not None:
                    start.abandon()
                    left_behind()
            nursery.cancel_scope.cancel()
    if tasks.failure is not None:
        raise tasks.failure
    if raised is not None:
        raise raised


def _installed() -> Registry:
    try:
        return installed_apis()
    except InstalledApiError as error:
        raise StartError(f"a plugin cannot be used: {error}") from error


def _tell_started(broker: Broker) -> None:
    _logger.info(
        "broker started",
        node=broker.config.node_id,
        cluster=broker.storage.identity.cluster_id,
        took_ms=broker.start.total_ms,
        listeners=",".join(f"{name}://{at}" for name, at in broker.endpoints.items()),
    )
