"""A running broker, as those see it who embed it, stop it, or look inside."""

from collections.abc import Mapping

import trio
from attrs import define, field

from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.running import Running
from trio_kafka.broker.storage import Storage
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.controller import Controller
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.log.manager import LogManager
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.model import Endpoint
from trio_kafka.network.plane import Plane
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.replication.manager import ReplicaManager
from trio_kafka.requests.parts import Parts
from trio_kafka.world.protocols import World


@define(eq=False, kw_only=True)
class Broker:
    """The parts, in the order in which they start.

    endpoints: where clients find it, by the listener's name: bound addresses. running: the tasks,
    by name. started: how long each step of the start took (s); stopped: of the stop.
    """

    world: World
    config: BrokerConfig
    node: Node
    counters: Counters
    storage: Storage
    logs: LogManager
    raft: RaftDriver
    metadata: MetadataCache
    controller: Controller
    replicas: ReplicaManager
    plane: Plane
    parts: Parts
    lifecycle: Lifecycle
    endpoints: Mapping[str, Endpoint]
    running: dict[str, Running]
    started: dict[str, float]
    stopped: dict[str, float] = field(factory=dict)
    ended: trio.Event = field(factory=trio.Event)

    @property
    def endpoint(self) -> Endpoint:
        """The address of the first listener."""
        return next(iter(self.endpoints.values()))

    @property
    def bootstrap(self) -> str:
        """The address that clients are given."""
        return str(self.endpoint)
