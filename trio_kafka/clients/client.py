"""Core of every client: its settings, its links, its metadata, and the nursery of their tasks.

    async with open_client(settings, world) as client:
        topic = await client.metadata.wait_topic("orders", timeout_s=10.0)
        response = await client.links[leader].ask(request, timeout_s=30.0)

No task outlives the block. An exception of the block leaves it as it is, not in a group.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import trio

from trio_kafka.attributes import define
from trio_kafka.clients.bootstrap import parse_bootstrap
from trio_kafka.clients.links.links import BrokerLinks
from trio_kafka.clients.metadata.cache import MetadataCache
from trio_kafka.clients.metadata.refresh import Metadata
from trio_kafka.clients.metrics.registry import MetricRegistry
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.clients.telemetry.reporter import TelemetryReporter
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Node
from trio_kafka.telemetry import otlp
from trio_kafka.telemetry.metric import MetricName
from trio_kafka.world.world import World

_logger: Final = get_logger(__name__)
_NO_LABELS: Final[Mapping[str, str]] = {}


@define(eq=False, kw_only=True)
class Client:
    """Common part of producers, consumers and admin clients.

    world: of the machine on which the client runs. node: of the client in the tree.
    """

    settings: ClientSettings
    world: World
    metadata: Metadata
    node: Node

    @property
    def links(self) -> BrokerLinks:
        """Links to the brokers, by node id."""
        return self.metadata.links

    @property
    def registry(self) -> MetricRegistry:
        """Metrics of the client, in which its parts declare theirs."""
        return self.metadata.registry

    def metrics(self) -> dict[MetricName, float]:
        """Return all metrics, by Kafka's names; NaN for those without values lately."""
        return {metric.name: metric.value for metric in self.registry.read(trio.current_time())}


def metadata_of(
    settings: ClientSettings,
    world: World,
    *,
    idle_s: float = float("inf"),
    creates_topics: bool = False,
    limit: int = 100,
    kind: str = "admin-client",
) -> Metadata:
    """Return empty metadata, with the links of the client. Raises ConfigError.

    idle_s, creates_topics: see `MetadataCache`. limit: requests in flight to each broker.
    kind: of the client, in names of its metrics: `producer`, `consumer`, `admin-client`.
    """
    cache = MetadataCache(
        max_age_s=settings.metadata_max_age_ms / 1000,
        backoff=settings.retry_backoff,
        idle_s=idle_s,
        creates_topics=creates_topics,
    )
    bootstrap = parse_bootstrap(settings.bootstrap_servers)
    return Metadata(
        world=world, settings=settings, bootstrap=bootstrap, cache=cache, limit=limit, kind=kind
    )


@asynccontextmanager
async def open_client(
    metadata: Metadata,
    *,
    name: str,
    tree: Node | None = None,
    lingers: bool = False,
    labels: Mapping[str, str] = _NO_LABELS,
) -> AsyncIterator[Client]:
    """Run the tasks of a client for the duration of the block.

    Raises ConfigError for stores of TLS that cannot be used.

    lingers: see `running`. labels: of the client in pushed metrics, such as its group.

    name: of the client in the tree. tree: the node below which it is shown; None: it is not.
    """
    root = Node("clients", "part") if tree is None else tree
    await metadata.links.load()
    with root.child(name, "part") as node:
        node.add("metadata", "part", metadata.figures)
        links = metadata.links
        node.add("links", "part", links.figures, transient=lambda at: _link_nodes(links, at))
        if links.login is not None:
            node.add("login", "part", links.login.figures)
        client = Client(
            settings=metadata.settings, world=metadata.world, metadata=metadata, node=node
        )
        tasks: dict[str, Callable[[], Awaitable[object]]] = {
            f"{name}-links": links.run,
            f"{name}-metadata": metadata.run,
        }
        reporter = _reporter(metadata, labels)
        if reporter is not None:
            node.add("telemetry", "part", reporter.figures)
            tasks[f"{name}-telemetry"] = reporter.run
        async with running(tasks, lingers=lingers):
            yield client
            if reporter is not None:
                await reporter.close()


def _reporter(metadata: Metadata, labels: Mapping[str, str]) -> TelemetryReporter | None:
    """Return the telemetry of a client; None: it is off, or its library is not installed."""
    if not metadata.settings.enable_metrics_push:
        return None
    if not otlp.is_installed():
        if "enable.metrics.push" in metadata.settings.written:
            _logger.warning("metrics are not pushed", install=otlp.missing_hint())
        return None
    return TelemetryReporter(metadata=metadata, labels=labels)


@asynccontextmanager
async def running(
    tasks: Mapping[str, Callable[[], Awaitable[object]]], *, lingers: bool = False
) -> AsyncIterator[None]:
    """Run tasks, by their names, for the duration of the block.

    lingers: a cancellation from outside ends the tasks only at the end of the block, which may say
    goodbye with their help, inside a shield with a deadline.
    An exception of the block leaves it as it is: a nursery would put it into a group.
    """
    failure: Exception | None = None
    scopes = [trio.CancelScope(shield=lingers) for _ in tasks]

    async def run(task: Callable[[], Awaitable[object]], scope: trio.CancelScope) -> None:
        try:
            with scope:
                await task()
        except BaseException:
            for other in scopes:
                other.cancel()
            raise

    async with trio.open_nursery() as nursery:
        for (name, task), scope in zip(tasks.items(), scopes, strict=True):
            nursery.start_soon(run, task, scope, name=name)
        try:
            yield
        except Exception as error:  # noqa: BLE001 - raised below
            failure = error
        finally:
            for scope in scopes:
                scope.cancel()
    if failure is not None:
        raise failure


def _link_nodes(links: BrokerLinks, parent: Node) -> Iterator[Node]:
    for link in links.links:
        yield Node(f"broker {link.node}", "connection", link.figures, parent=parent)
