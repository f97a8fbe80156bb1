"""The planes that serve clients, as a part of the node: the data plane and Kafka's control plane.

Their listeners are bound by the part `listeners`; nothing is accepted before all parts are open.
"""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.broker.node import Node, Part, at_once
from trio_kafka.broker.parts.authentication import ClientAuthentication
from trio_kafka.broker.parts.connections import request_memory
from trio_kafka.broker.tls_listeners import TlsListeners
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.handlers import PlaneResources
from trio_kafka.network.plane import Plane
from trio_kafka.requests.pool import HandlerGroup
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.scheduling.yield_point import YieldPoint

_CONTROL_QUEUED: Final = 20
_CONTROL_HANDLERS: Final = 1


@frozen
class Planes:
    """Planes of a broker. control: that of `control.plane.listener.name`, if set (KIP-291)."""

    data: Plane
    control: Plane | None

    @property
    def all(self) -> tuple[Plane, ...]:
        """All planes, the data plane first."""
        return (self.data,) if self.control is None else (self.data, self.control)

    def open(self) -> None:
        """Accept clients."""
        for plane in self.all:
            plane.open()


def _make_planes(node: Node) -> Planes:
    planes = Planes(_make_data_plane(node), _make_control_plane(node))
    node.handler_parts.planes.extend(planes.all)
    return planes


def _make_data_plane(node: Node) -> Plane:
    node.tree.add("counters", "part", node.counters.figures)
    node.tree.add("descriptors", "part", node.world.descriptors.figures)
    dynamic = node[DynamicSettings]
    plane, handlers = _make_plane(
        node,
        "data",
        queued=node.config.queued_max_requests,
        handlers=dynamic.config.num_io_threads,
        yield_point=node.yield_point,
    )
    dynamic.follow(lambda config: handlers.resize(config.num_io_threads))
    return plane


def _make_control_plane(node: Node) -> Plane | None:
    """Make the control plane, if the settings have one, with Kafka's sizes."""
    if node.config.endpoints.control is None:
        return None
    plane, _ = _make_plane(node, "control", queued=_CONTROL_QUEUED, handlers=_CONTROL_HANDLERS)
    node.yield_point.bind(plane.serve_pending)
    return plane


def _make_plane(
    node: Node,
    name: str,
    *,
    queued: int,
    handlers: int,
    yield_point: YieldPoint | None = None,
) -> tuple[Plane, HandlerGroup]:
    tree = node.tree.add(f"plane {name}", "plane")
    budget = LoopBudget(node.world.clock.elapsed, deferred=node.deferred, yield_point=yield_point)
    channel = RequestChannel(queued, tree, budget.elapsed)
    group = HandlerGroup(
        channel,
        node.handler_parts,
        budget=budget,
        counters=node.counters,
        node=tree,
        size=handlers,
        name=f"{name}-plane-kafka-request-handler",
    )
    resources = PlaneResources(
        world=node.world,
        channel=channel,
        handlers=group,
        budget=budget,
        counters=node.counters,
        node=tree,
        limits=node[ConnectionLimits],
        memory=request_memory(node.config, budget.elapsed),
        recent=node.config.trio_request_lives,
        tls=node[TlsListeners].by_name,
        authentication=node[ClientAuthentication].of,
    )
    return Plane(name, resources, node_id=node.config.node_id), group


PLANES: Final = Part(
    kind=Planes, open=at_once(_make_planes), serve=lambda node: node[Planes].open()
)
