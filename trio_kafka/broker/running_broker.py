"""A running broker: access for code that embeds it, stops it or looks inside."""

from collections.abc import Mapping, Sequence

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.broker.build_context import BuildContext
from trio_kafka.broker.dynamic_listeners import DynamicListeners
from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.step_timings import StepTimings
from trio_kafka.broker.storage import Storage
from trio_kafka.broker.tasks import Tasks
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.controller import Controller
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.image import ListenerEndpoint
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.model import Endpoint
from trio_kafka.network.plane import Plane
from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.replication.manager import ReplicaManager
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.request_log.log import RequestLog
from trio_kafka.world.world import World


@define(eq=False, kw_only=True)
class RunningBroker:
    """A started broker. parts: what handlers use.

    advertised: the addresses that clients are told, by listener name.
    start, stop: durations of the steps.
    """

    context: BuildContext
    parts: Parts
    storage: Storage
    logs: LogManager
    lifecycle: Lifecycle
    listeners: DynamicListeners
    plugins: PluginHost
    request_log: RequestLog
    advertised: Mapping[str, ListenerEndpoint]
    start: StepTimings
    stop: StepTimings = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.stop = StepTimings("stop", self.world.clock.elapsed, self.node)

    @property
    def world(self) -> World:
        return self.context.world

    @property
    def config(self) -> BrokerConfig:
        return self.context.config

    @property
    def node(self) -> Node:
        """Root of the broker's tree."""
        return self.context.node

    @property
    def counters(self) -> Counters:
        return self.context.counters

    @property
    def tasks(self) -> Tasks:
        return self.context.tasks

    @property
    def raft(self) -> RaftDriver:
        return self.parts.raft

    @property
    def metadata(self) -> MetadataCache:
        return self.parts.metadata

    @property
    def controller(self) -> Controller:
        return self.parts.controller

    @property
    def replicas(self) -> ReplicaManager:
        return self.parts.replicas

    @property
    def groups(self) -> GroupCoordinator:
        return self.parts.groups

    @property
    def planes(self) -> Sequence[Plane]:
        """All planes, the data plane first."""
        return self.parts.planes

    @property
    def plane(self) -> Plane:
        """The data plane."""
        return self.planes[0]

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Bound addresses by listener name."""
        return self.listeners.endpoints

    @property
    def endpoint(self) -> Endpoint:
        """Bound address of the first listener."""
        return next(iter(self.endpoints.values()))

    @property
    def bootstrap(self) -> str:
        """Advertised address of the first listener, as clients use it."""
        first = self.advertised[next(iter(self.endpoints))]
        return str(Endpoint(first.host, first.port))
