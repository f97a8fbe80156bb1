"""A running broker, as those see it who embed it, stop it, or look inside."""

from collections.abc import Mapping, Sequence

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.listening import Listening
from trio_kafka.broker.site import Site
from trio_kafka.broker.steps import Steps
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
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.network.plane import Plane
from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.replication.manager import ReplicaManager
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.request_log.log import RequestLog
from trio_kafka.world.world import World


@define(eq=False, kw_only=True)
class Broker:
    """The parts, in the order in which they start.

    planes: the data plane first. advertised: what clients are told, by the listener's name.
    start, stop: how long each step took.
    """

    site: Site
    storage: Storage
    logs: LogManager
    raft: RaftDriver
    metadata: MetadataCache
    controller: Controller
    replicas: ReplicaManager
    groups: GroupCoordinator
    planes: Sequence[Plane]
    listening: Listening
    limits: ConnectionLimits
    plugins: PluginHost
    request_log: RequestLog
    parts: Parts
    lifecycle: Lifecycle
    advertised: Mapping[str, ListenerEndpoint]
    start: Steps
    stop: Steps = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.stop = Steps("stop", self.world.clock.elapsed, self.node)

    @property
    def world(self) -> World:
        return self.site.world

    @property
    def config(self) -> BrokerConfig:
        return self.site.config

    @property
    def node(self) -> Node:
        """The root of its tree."""
        return self.site.node

    @property
    def counters(self) -> Counters:
        return self.site.counters

    @property
    def tasks(self) -> Tasks:
        return self.site.tasks

    @property
    def plane(self) -> Plane:
        """The one that clients talk to."""
        return self.planes[0]

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """The addresses that are bound now, by the listener's name."""
        return self.listening.endpoints

    @property
    def endpoint(self) -> Endpoint:
        """Where the first listener is bound."""
        return next(iter(self.endpoints.values()))

    @property
    def bootstrap(self) -> str:
        """What clients are given: the advertised address of the first listener."""
        told = self.advertised[next(iter(self.endpoints))]
        return str(Endpoint(told.host, told.port))
