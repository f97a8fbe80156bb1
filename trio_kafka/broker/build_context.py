"""Build context of a broker: what every part of it is built with."""

from attrs import Factory, field

from trio_kafka.attributes import define
from trio_kafka.broker.tasks import Tasks
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.metadata.effective import EffectiveConfig
from trio_kafka.model import NodeId
from trio_kafka.periodic_jobs import Scheduler
from trio_kafka.purgatory import Timers
from trio_kafka.scheduling.deferred_batch import DeferredBatch
from trio_kafka.scheduling.yield_point import YieldPoint
from trio_kafka.world.world import World


@define(eq=False, kw_only=True)
class BuildContext:
    """Shared context of one broker's parts.

    node: root of the broker's tree. tasks: all tasks of the broker, by name.
    effective: settings in force, files and dynamic ones. deferred, yield_point: see `scheduling`.
    """

    world: World
    config: BrokerConfig
    node: Node
    tasks: Tasks
    counters: Counters = field(factory=Counters)
    deferred: DeferredBatch = field(factory=DeferredBatch)
    yield_point: YieldPoint = field(factory=YieldPoint)
    effective: EffectiveConfig = Factory(lambda self: EffectiveConfig(self.config), takes_self=True)
    scheduler: Scheduler = Factory(lambda self: Scheduler(self.node), takes_self=True)
    timers: Timers = Factory(lambda self: Timers(self.node), takes_self=True)

    @property
    def node_id(self) -> NodeId:
        return NodeId(self.config.node_id)
