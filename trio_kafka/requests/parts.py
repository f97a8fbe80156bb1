"""Parts of a broker, which handlers reach by class: `context[GroupCoordinator]`.

A field is a part that others in the core read, or that a test gives. A new part needs none: it is
added by its class. A part that a broker or a test does not have is missing: its use raises
MissingPartError, which the client sees as UNKNOWN_SERVER_ERROR.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol, TypeVar, cast

import trio
from attrs import Factory, field, fields

from trio_kafka.attributes import define, frozen
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.config_admin import ConfigAdmin
from trio_kafka.controller.controller import Controller
from trio_kafka.controller.topics import Charge
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.request_metrics import RequestMetrics
from trio_kafka.introspect.tree import Node
from trio_kafka.log.cleaner.log_cleaner import LogCleaner
from trio_kafka.metadata.effective import EffectiveConfig
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.model import NO_NODE, NodeId
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.network.plane import Plane
from trio_kafka.periodic_jobs import Scheduler
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.replication.leader.fetches import Fetches
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.authority import LocalChanges
from trio_kafka.requests.error_counting import ErrorCounts
from trio_kafka.requests.interceptors.registry import Interceptors
from trio_kafka.requests.loopback import InProcessClient
from trio_kafka.requests.plugins import Plugins
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.throttling.throttle import Throttle, unlimited
from trio_kafka.security.authorizer import ALLOW_ALL, Authorizer

T = TypeVar("T")


class MissingPartError(Exception):
    """Use of a part that this broker does not have."""


class Missing:
    """Placeholder of a missing part."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise MissingPartError(f"this broker has no {self._name} (used: .{name})")


def missing(name: str) -> Any:
    """Return the default of a part that must be given to be used."""
    return field(factory=lambda: Missing(name))


class Features(Protocol):
    """Feature levels of a cluster, by name of the feature."""

    @property
    def supported(self) -> Mapping[str, tuple[int, int]]:
        """Lowest and highest level that this broker supports."""

    @property
    def finalized(self) -> Mapping[str, int]:
        """Finalized level of the cluster."""

    @property
    def epoch(self) -> int:
        """Epoch of `finalized`, which grows with every change; -1 before it is known."""


@frozen
class StaticFeatures:
    """Features that do not change; none by default."""

    supported: Mapping[str, tuple[int, int]] = Factory(dict)
    finalized: Mapping[str, int] = Factory(dict)
    epoch: int = -1


class Lifecycle(Protocol):
    """Lifecycle of this broker, as its controller sees it."""

    @property
    def state(self) -> str:
        """State of the broker; `running` while it serves clients."""

    @property
    def failure(self) -> str:
        """Why the broker stops by itself; empty if it does not."""

    @property
    def serving(self) -> trio.Event:
        """Event that is set when the broker accepts clients."""

    @property
    def leaving(self) -> trio.Event:
        """Event that is set when the shutdown begins."""


@frozen(kw_only=True)
class TopicRequester:
    """Client for which topics are created; equal if principal and client id are.

    principal: passed to policies. charge: of the client's quota, as in `Controller.create_topics`.
    """

    principal: str
    client_id: str
    charge: Charge = field(eq=False, repr=False)


class TopicCreation(Protocol):
    """Automatic creation of topics that clients ask for."""

    def want(self, names: Iterable[str], requester: TopicRequester | None = None) -> None:
        """Request the creation of topics. Never waits. requester: None: the broker itself."""


class ProducerIds(Protocol):
    """Allocation of producer ids."""

    async def next_id(self) -> int:
        """Allocate a producer id that is unique in the cluster. Raises KafkaError."""


@define(eq=False, kw_only=True)
class Parts:
    """Parts of one broker, of which a test may have only some."""

    apis: Registry
    node_id: NodeId = NO_NODE
    cluster_id: str = ""
    features: Features = field(factory=StaticFeatures)
    in_process: InProcessClient = Factory(
        lambda self: InProcessClient(self.apis, self.data_times), takes_self=True
    )
    interceptors: Interceptors = Factory(lambda self: Interceptors(self.apis), takes_self=True)
    authorizer: Authorizer = ALLOW_ALL
    cleaner: LogCleaner = missing("log cleaner")
    config: BrokerConfig = missing("config")
    configs: ConfigAdmin = missing("changes of settings")
    controller: Controller = missing("controller")
    counters: Counters = missing("counters")
    error_counts: ErrorCounts = field(factory=ErrorCounts)
    fetches: Fetches = missing("fetches")
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
    replicas: Replicas = missing("replicas")
    scheduler: Scheduler = missing("scheduler")
    settings: EffectiveConfig = missing("settings")
    topic_creation: TopicCreation = missing("topic creation")
    tree: Node = missing("tree")
    _others: dict[type[Any], object] = field(factory=dict, init=False)

    def data_times(self) -> RequestMetrics | None:
        """Return the request metrics of the data plane; None without one."""
        return self.planes[0].request_metrics if self.planes else None

    def __getitem__(self, kind: type[T]) -> T:
        """Return the part of a class. Raises MissingPartError if no part has it."""
        name = FIELDS.get(kind)
        part = self._others.get(kind) if name is None else getattr(self, name)
        if part is None:
            raise MissingPartError(f"this broker has no {kind.__name__}")
        return cast("T", part)

    def add(self, kind: type[T], part: T) -> None:
        """Add a part, which handlers find by its class."""
        name = FIELDS.get(kind)
        if name is None:
            self._others[kind] = part
        else:
            setattr(self, name, part)


# By the class of each part. Ids and lists are values of the broker, not parts of it.
FIELDS: Final[Mapping[type[Any], str]] = {
    part.type: part.name for part in fields(Parts) if isinstance(part.type, type)
}
