"""A running broker: access for code that embeds it, stops it or looks inside.

`broker[GroupCoordinator]` is the part of that class. The names below are for the parts that tests
and embedding programs use most; a new part needs none.
"""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar, overload

from trio_kafka.broker.dynamic_listeners import DynamicListeners
from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.node import Node
from trio_kafka.broker.parts.planes import Planes
from trio_kafka.broker.parts.registration import Registration
from trio_kafka.broker.step_timings import StepTimings
from trio_kafka.broker.storage import Storage
from trio_kafka.broker.tasks import Tasks
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.controller import Controller
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node as TreeNode
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.image import ListenerEndpoint
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.model import Endpoint
from trio_kafka.network.plane import Plane
from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.replication.purgatories import Purgatories
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.request_log.log import RequestLog
from trio_kafka.world.world import World

T = TypeVar("T")


class _Named(Generic[T]):
    """Attribute of a running broker: the part of a class."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind

    @overload
    def __get__(self, broker: None, owner: type) -> "_Named[T]": ...

    @overload
    def __get__(self, broker: "RunningBroker", owner: type) -> T: ...

    def __get__(self, broker: "RunningBroker | None", owner: type) -> "T | _Named[T]":
        return self if broker is None else broker[self._kind]


class RunningBroker:
    """A started broker.

    node: root of its tree. parts: what handlers use. start, stop: durations of the steps.
    """

    controller = _Named(Controller)
    groups = _Named(GroupCoordinator)
    lifecycle = _Named(Lifecycle)
    listeners = _Named(DynamicListeners)
    logs = _Named(LogManager)
    metadata = _Named(MetadataCache)
    plugins = _Named(PluginHost)
    purgatories = _Named(Purgatories)
    raft = _Named(RaftDriver)
    replicas = _Named(Replicas)
    request_log = _Named(RequestLog)
    storage = _Named(Storage)

    def __init__(self, running: Node) -> None:
        self._running = running
        self.world: World = running.world
        self.config: BrokerConfig = running.config
        self.node: TreeNode = running.tree
        self.tasks: Tasks = running.tasks
        self.counters: Counters = running.counters
        self.parts: Parts = running.handler_parts
        self.start: StepTimings = running.start
        self.stop: StepTimings = running.stop

    def __getitem__(self, kind: type[T]) -> T:
        """Return the part of a class. Raises KeyError, which names the part."""
        return self._running[kind]

    @property
    def planes(self) -> Sequence[Plane]:
        """All planes, the data plane first."""
        return self[Planes].all

    @property
    def plane(self) -> Plane:
        """The data plane."""
        return self[Planes].data

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Bound addresses by listener name."""
        return self.listeners.endpoints

    @property
    def endpoint(self) -> Endpoint:
        """Bound address of the first listener."""
        return next(iter(self.endpoints.values()))

    @property
    def advertised(self) -> Mapping[str, ListenerEndpoint]:
        """Addresses advertised to clients, by listener name."""
        return self[Registration].advertised

    @property
    def bootstrap(self) -> str:
        """Advertised address of the first listener, as clients use it."""
        first = self.advertised[next(iter(self.endpoints))]
        return str(Endpoint(first.host, first.port))
