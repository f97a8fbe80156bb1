"""The parts of a broker that handlers reach as `context.<part>`.

One field a part: that is all there is to add. A part that a broker, or a test, does not have is
missing: touching it raises MissingPartError, which the client sees as UNKNOWN_SERVER_ERROR.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import trio
from attrs import Factory, field

from trio_kafka.attributes import define, frozen
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.config_admin import ConfigAdmin
from trio_kafka.controller.controller import Controller
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.request_metrics import RequestMetrics
from trio_kafka.introspect.tree import Node
from trio_kafka.metadata.effective import EffectiveConfig
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.model import NO_NODE, NodeId
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.network.plane import Plane
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.replication.manager import ReplicaManager
from trio_kafka.requests.authority import LocalChanges
from trio_kafka.requests.error_counting import ErrorCounts
from trio_kafka.requests.interceptors.registry import Interceptors
from trio_kafka.requests.loopback.in_process import InProcess
from trio_kafka.requests.plugins import Plugins
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.throttling.throttle import Throttle, unlimited
from trio_kafka.security.authorizer import ALLOW_ALL, Authorizer


class MissingPartError(Exception):
    """A handler asked for a part that this broker does not have."""


class Missing:
    """Stands where a part would."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise MissingPartError(f"this broker has no {self._name} (asked for .{name})")


def missing(name: str) -> Any:
    """The default of a part."""
    return field(factory=lambda: Missing(name))


class Features(Protocol):
    """What a cluster can do: levels by name of the feature."""

    @property
    def supported(self) -> Mapping[str, tuple[int, int]]:
        """Lowest and highest level that this broker knows."""

    @property
    def finalized(self) -> Mapping[str, int]:
        """The level that the cluster has."""

    @property
    def epoch(self) -> int:
        """Of `finalized`: grows with every change; -1 when nothing is known yet."""


@frozen
class StaticFeatures:
    """Features that do not change; none unless told."""

    supported: Mapping[str, tuple[int, int]] = Factory(dict)
    finalized: Mapping[str, int] = Factory(dict)
    epoch: int = -1


class Lifecycle(Protocol):
    """This broker's life in the eyes of its controller."""

    @property
    def state(self) -> str:
        """`running` while it serves clients; other words before and after."""

    @property
    def serving(self) -> trio.Event:
        """Set when clients are let in."""

    @property
    def leaving(self) -> trio.Event:
        """Set when the stop begins."""


class TopicCreation(Protocol):
    """Topics that are created because somebody asked for them."""

    def want(self, names: Iterable[str]) -> None:
        """Have these created soon. Never waits."""


class ProducerIds(Protocol):
    """Ids for producers."""

    async def next_id(self) -> int:
        """One that nobody else gets. Raises KafkaError."""


@define(eq=False, kw_only=True)
class Parts:
    """What is there besides the request."""

    apis: Registry
    node_id: NodeId = NO_NODE
    cluster_id: str = ""
    features: Features = field(factory=StaticFeatures)
    in_process: InProcess = Factory(
        lambda self: InProcess(self.apis, self.data_times), takes_self=True
    )
    interceptors: Interceptors = Factory(lambda self: Interceptors(self.apis), takes_self=True)
    authorizer: Authorizer = ALLOW_ALL
    config: BrokerConfig = missing("config")
    configs: ConfigAdmin = missing("changes of settings")
    controller: Controller = missing("controller")
    counters: Counters = missing("counters")
    error_counts: ErrorCounts = field(factory=ErrorCounts)
    groups: GroupCoordinator = missing("group coordinator")
    lifecycle: Lifecycle = missing("lifecycle")
    local_changes: LocalChanges = field(factory=LocalChanges)
    limits: ConnectionLimits = missing("limits of connections")
    metadata: MetadataCache = missing("metadata")
    planes: list[Plane] = field(factory=list)
    plugins: Plugins = missing("plugins")
    producer_ids: ProducerIds = missing("producer ids")
    quotas: Throttle = field(factory=unlimited)
    raft: RaftDriver = missing("metadata log")
    replicas: ReplicaManager = missing("replicas")
    settings: EffectiveConfig = missing("settings")
    topic_creation: TopicCreation = missing("topic creation")
    tree: Node = missing("tree")

    def data_times(self) -> RequestMetrics | None:
        """Where requests of the data plane are counted, if there is one."""
        return self.planes[0].request_metrics if self.planes else None
