"""One broker as a context manager: it serves while the block runs and then stops in order."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from types import TracebackType
from typing import Final

import trio

from trio_kafka import held
from trio_kafka.broker.errors import StartError
from trio_kafka.broker.node import Node, StartOptions
from trio_kafka.broker.roles import ROLES
from trio_kafka.broker.running_broker import RunningBroker
from trio_kafka.broker.shutdown import stop_node
from trio_kafka.broker.tasks import Tasks
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.load import broker_config
from trio_kafka.errors import only_leaf
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Node as TreeNode
from trio_kafka.log.files.open_files import SMALLEST
from trio_kafka.model import NodeId
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.records.leaf import RECORDS_BY
from trio_kafka.requests.interceptors.registry import Interceptors
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.registry import InstalledApiError, Registry, installed_apis
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.descriptors import SMALLEST as FEWEST_DESCRIPTORS
from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.real import RealWorld
from trio_kafka.world.real.clock import MachineClock
from trio_kafka.world.world import World

_logger: Final = get_logger(__name__)
STOP_S: Final = 30.0


class Broker(AbstractAsyncContextManager[RunningBroker]):
    """A broker that serves while its block runs, once.

        async with Broker({"log.dirs": "data"}, format_if_empty=True) as broker:
            print(broker.bootstrap)

    It stops in order after the block, even if the block raises or a part fails. A failing part
    cancels the block; its error is raised after the stop. On cancellation the broker ends at once
    and recovers at its next start.
    config: settings by Kafka's names, or a configuration. world: None: this machine.
    apis, plugins: None: the installed ones. stop_s: deadline of the stop.
    open_files: most open files of sealed segments.
    abandoned: called when everything has stopped except plugins that do not end. Without it, or
    when it returns, the broker waits for them.
    Raises ConfigError at once. Entering raises StartError, KafkaError; leaving raises whatever a
    part failed with: LogDirError, InvariantError, ...
    """

    def __init__(
        self,
        config: BrokerConfig | Mapping[str, str],
        world: World | None = None,
        *,
        format_if_empty: bool = False,
        apis: Registry | None = None,
        plugins: Sequence[Plugin] | None = None,
        stop_s: float = STOP_S,
        open_files: int = SMALLEST,
        abandoned: Callable[[], object] | None = None,
    ) -> None:
        self.config = config if isinstance(config, BrokerConfig) else broker_config(config)
        self._world = world
        self._options = StartOptions(
            format_if_empty=format_if_empty, open_files=open_files, plugins=plugins
        )
        self._apis = apis
        self._stop_s = stop_s
        self._abandoned = abandoned
        self._run = self._running()

    async def __aenter__(self) -> RunningBroker:
        return await self._run.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return await self._run.__aexit__(kind, error, traceback)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[RunningBroker]:
        config, world = self.config, self._world or _this_machine()
        check_descriptors(world.descriptors)
        tree = TreeNode(f"broker-{config.node_id}", "broker")
        # A copy, because plugins add APIs for this broker only.
        registry = _installed() if self._apis is None else self._apis.copy()
        if config.unstable_api_versions_enable:
            registry = registry.with_unstable()
        raised: Exception | None = None
        with held.given_back(tree.name, world.descriptors), ExitStack() as cleanup:
            async with trio.open_nursery() as nursery:
                tasks = Tasks(nursery)
                node = Node(
                    role="broker",
                    roles=ROLES,
                    world=world,
                    config=config,
                    tree=tree,
                    tasks=tasks,
                    options=self._options,
                    handler_parts=_handler_parts(registry, config, tree),
                )
                # Release files only when no task is left: a running task would open them again.
                cleanup.callback(node.abandon)
                broker: RunningBroker | None = None
                try:
                    with tasks.guard:
                        await node.open()
                        broker = RunningBroker(node)
                        _log_start(broker)
                        yield broker
                except Exception as error:  # noqa: BLE001 - raised below, after the stop
                    raised = only_leaf(error) if broker is None else error
                if broker is not None:
                    await stop_node(node, self._stop_s)
                    if node[PluginHost].abandoned and self._abandoned is not None:
                        node.abandon()
                        self._abandoned()
                nursery.cancel_scope.cancel()
        if tasks.failure is not None:
            raise tasks.failure
        if raised is not None:
            raise raised


def _handler_parts(apis: Registry, config: BrokerConfig, tree: TreeNode) -> Parts:
    """Make what handlers use; the node adds its parts as they are opened."""
    interceptors = Interceptors(apis, tree.add("interceptors", "part"))
    return Parts(
        apis=apis,
        node_id=NodeId(config.node_id),
        config=config,
        interceptors=interceptors,
        tree=tree,
    )


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


def _this_machine() -> RealWorld:
    """Return the world of this machine, on the clock of the loop if that is one of ours."""
    clock = trio.lowlevel.current_clock()
    ours = clock if isinstance(clock, MachineClock | SkippingClock) else None
    return RealWorld(ours, workers=False)


def _installed() -> Registry:
    try:
        return installed_apis()
    except InstalledApiError as error:
        raise StartError(f"an API of an installed plugin cannot be used: {error}") from error


def _log_start(broker: RunningBroker) -> None:
    _logger.info(
        "broker started",
        node=broker.config.node_id,
        cluster=broker.storage.identity.cluster_id,
        took_ms=broker.start.total_ms,
        records=RECORDS_BY,
        listeners=",".join(f"{name}://{at}" for name, at in broker.endpoints.items()),
    )
