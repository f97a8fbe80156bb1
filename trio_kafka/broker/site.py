"""Where one broker is built: what every part of it is given."""

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.broker.tasks import Tasks
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.model import NodeId
from trio_kafka.scheduling.deferred_batch import Rounds
from trio_kafka.scheduling.yield_point import YieldPoint
from trio_kafka.world.world import World


@define(eq=False, kw_only=True)
class Site:
    """node: the broker's own in the tree; tasks: all of its tasks."""

    world: World
    config: BrokerConfig
    node: Node
    tasks: Tasks
    counters: Counters = field(factory=Counters)
    rounds: Rounds = field(factory=Rounds)
    yield_point: YieldPoint = field(factory=YieldPoint)

    @property
    def node_id(self) -> NodeId:
        return NodeId(self.config.node_id)
