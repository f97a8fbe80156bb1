"""One broker as a context manager: it serves while the block runs and then stops in order."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Final

import trio

from trio_kafka.broker.broker import Broker
from trio_kafka.broker.build_context import BuildContext
from trio_kafka.broker.errors import StartError
from trio_kafka.broker.shutdown import stop_broker
from trio_kafka.broker.startup.startup import Startup
from trio_kafka.broker.tasks import Tasks
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.errors import only_leaf
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Node
from trio_kafka.log.files.open_files import SMALLEST
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.requests.registry import InstalledApiError, Registry, installed_apis
from trio_kafka.world.descriptors import SMALLEST as FEWEST_DESCRIPTORS
from trio_kafka.world.descriptors import Descriptors
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
    abandoned: Callable[[], object] | None = None,
) -> AsyncIterator[Broker]:
    """Start a broker; stop it in order after the block, even if the block raises or a part fails.

    A failing part cancels the block; its error is raised after the stop. On cancellation the broker
    ends at once and recovers at its next start.
    apis, plugins: None: the installed ones. stop_s: deadline of the stop.
    open_files: most open files of sealed segments.
    abandoned: called when everything has stopped except plugins that do not end. Without it, or
    when it returns, the broker waits for them.
    Raises StartError, KafkaError, and whatever a part fails with: LogDirError, InvariantError, ...
    """
    check_descriptors(world.descriptors)
    node = Node(f"broker-{config.node_id}", "broker")
    # A copy, because plugins add APIs for this broker only.
    registry = _installed() if apis is None else apis.copy()
    if config.unstable_api_versions_enable:
        registry = registry.with_unstable()
    raised: Exception | None = None
    with ExitStack() as cleanup:
        async with trio.open_nursery() as nursery:
            tasks = Tasks(nursery)
            context = BuildContext(world=world, config=config, node=node, tasks=tasks)
            start = Startup(
                context=context,
                apis=registry,
                plugins=plugins,
                format_if_empty=format_if_empty,
                open_files=open_files,
            )
            # Release files only when no task is left: a running task would open them again.
            cleanup.callback(start.abandon)
            broker: Broker | None = None
            try:
                with tasks.guard:
                    broker = await start.run()
                    _log_start(broker)
                    yield broker
            except Exception as error:  # noqa: BLE001 - raised below, after the stop
                raised = only_leaf(error) if broker is None else error
            if broker is not None:
                await stop_broker(broker, stop_s)
                if broker.plugins.abandoned and abandoned is not None:
                    start.abandon()
                    abandoned()
            nursery.cancel_scope.cancel()
    if tasks.failure is not None:
        raise tasks.failure
    if raised is not None:
        raise raised


def check_descriptors(descriptors: Descriptors) -> None:
    """Raise StartError if the limit of open files is too low; an unknown limit is accepted.

    Partitions need no descriptors of their own: their files are closed and reopened as needed.
    """
    limit = descriptors.limit
    if limit is not None and limit < FEWEST_DESCRIPTORS:
        raise StartError(
            f"the limit of open files (ulimit -n) is {limit}, a broker needs at least"
            f" {FEWEST_DESCRIPTORS}: raise the limit"
        )


def _installed() -> Registry:
    try:
        return installed_apis()
    except InstalledApiError as error:
        raise StartError(f"an API of an installed plugin cannot be used: {error}") from error


def _log_start(broker: Broker) -> None:
    _logger.info(
        "broker started",
        node=broker.config.node_id,
        cluster=broker.storage.identity.cluster_id,
        took_ms=broker.start.total_ms,
        listeners=",".join(f"{name}://{at}" for name, at in broker.endpoints.items()),
    )
