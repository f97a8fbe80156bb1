"""Planes that serve clients, and the parts that their handlers use."""

from typing import Final

from trio_kafka.broker.build_context import BuildContext
from trio_kafka.broker.dynamic_listeners import DynamicListeners
from trio_kafka.broker.errors import listen_error
from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.parts.connections import make_limits, request_memory
from trio_kafka.broker.parts.features import ClusterFeatures
from trio_kafka.broker.parts.groups import make_groups
from trio_kafka.broker.parts.producer_ids import ProducerIds
from trio_kafka.broker.parts.quorum import Metadata
from trio_kafka.broker.parts.quotas import make_throttle
from trio_kafka.broker.parts.topic_creation import TopicCreation
from trio_kafka.broker.settings import settings_of_topic
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.config_admin import ConfigAdmin
from trio_kafka.controller.controller import Controller
from trio_kafka.errors import only_leaf
from trio_kafka.log.cleaner.log_cleaner import LogCleaner
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.handlers import PlaneResources
from trio_kafka.network.plane import Plane
from trio_kafka.replication.manager import ReplicaManager
from trio_kafka.replication.publisher import ReplicaPublisher
from trio_kafka.requests.interceptors.registry import Interceptors
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.pool import HandlerGroup
from trio_kafka.requests.registry import Registry
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.scheduling.yield_point import YieldPoint

# Task name.
PLANES: Final = "planes"
_CONTROL_QUEUED: Final = 20
_CONTROL_HANDLERS: Final = 1


def make_replicas(context: BuildContext, logs: LogManager, lifecycle: Lifecycle) -> ReplicaManager:
    """Make the replica manager; it has no replicas before `replica_publisher` has started."""
    return ReplicaManager(
        context.world,
        context.node_id,
        logs,
        context.timers,
        context.node,
        session_slots=context.config.max_incremental_fetch_session_cache_slots,
        session_partitions=context.config.trio_fetch_session_max_partitions,
        yield_point=context.yield_point,
        assign=lifecycle.assign_directories,
        moves_at_once=context.config.num_replica_alter_log_dirs_threads,
    )


def replica_publisher(context: BuildContext, replicas: ReplicaManager) -> ReplicaPublisher:
    """Make the publisher that creates and removes replicas as the metadata say."""
    return ReplicaPublisher(
        replicas,
        settings_of_topic(context.effective),
        full_validation=context.config.trio_record_validation == "full",
    )


def make_parts(
    context: BuildContext,
    *,
    apis: Registry,
    metadata: Metadata,
    controller: Controller,
    replicas: ReplicaManager,
    lifecycle: Lifecycle,
    cleaner: LogCleaner,
    topic_creation: TopicCreation,
    listeners: DynamicListeners,
) -> Parts:
    """Make the parts that handlers use as `context.<part>`."""
    config = context.config
    replicas.moves.pausing = cleaner.states.paused
    return Parts(
        apis=apis,
        cleaner=cleaner,
        node_id=context.node_id,
        cluster_id=metadata.cache.image.cluster_id,
        features=ClusterFeatures(metadata.cache, metadata.raft),
        interceptors=Interceptors(apis, context.node.add("interceptors", "part")),
        config=config,
        configs=ConfigAdmin(
            context.node_id,
            controller,
            timeout_s=config.request_timeout_ms / 1000,
            prepare=listeners.prepared,
        ),
        controller=controller,
        counters=context.counters,
        groups=make_groups(context, replicas, topic_creation),
        lifecycle=lifecycle,
        limits=make_limits(context),
        metadata=metadata.cache,
        producer_ids=ProducerIds(lifecycle.allocate_producer_ids, context.node),
        quotas=make_throttle(context),
        raft=metadata.raft,
        replicas=replicas,
        scheduler=context.scheduler,
        settings=context.effective,
        topic_creation=topic_creation,
        tree=context.node,
    )


def make_data_plane(context: BuildContext, parts: Parts, dynamic: DynamicSettings) -> Plane:
    """Make the data plane; its listeners are not bound yet."""
    context.node.add("counters", "part", context.counters.figures)
    context.node.add("descriptors", "part", context.world.descriptors.figures)
    plane, group = _make_plane(
        context,
        parts,
        "data",
        queued=context.config.queued_max_requests,
        handlers=dynamic.config.num_io_threads,
        yield_point=context.yield_point,
    )
    dynamic.follow(lambda config: group.resize(config.num_io_threads))
    return plane


def make_control_plane(context: BuildContext, parts: Parts) -> Plane | None:
    """Make the plane of `control.plane.listener.name`, if set, with Kafka's sizes (KIP-291)."""
    if context.config.endpoints.control is None:
        return None
    plane, _ = _make_plane(
        context, parts, "control", queued=_CONTROL_QUEUED, handlers=_CONTROL_HANDLERS
    )
    context.yield_point.bind(plane.serve_pending)
    return plane


def _make_plane(
    context: BuildContext,
    parts: Parts,
    name: str,
    *,
    queued: int,
    handlers: int,
    yield_point: YieldPoint | None = None,
) -> tuple[Plane, HandlerGroup]:
    node = context.node.add(f"plane {name}", "plane")
    budget = LoopBudget(
        context.world.clock.elapsed, deferred=context.deferred, yield_point=yield_point
    )
    channel = RequestChannel(queued, node, budget.elapsed)
    group = HandlerGroup(
        channel,
        parts,
        budget=budget,
        counters=context.counters,
        node=node,
        size=handlers,
        name=f"{name}-plane-kafka-request-handler",
    )
    resources = PlaneResources(
        world=context.world,
        channel=channel,
        handlers=group,
        budget=budget,
        counters=context.counters,
        node=node,
        limits=parts.limits,
        memory=request_memory(context.config, budget.elapsed),
        recent=context.config.trio_request_lives,
    )
    plane = Plane(name, resources, node_id=context.config.node_id)
    parts.planes.append(plane)
    return plane, group


async def bind_planes(
    context: BuildContext,
    listeners: DynamicListeners,
    data: Plane,
    control: Plane | None,
    dynamic: DynamicSettings,
) -> BrokerConfig:
    """Bind the listeners, which accept nothing until their planes `open`. Raises StartError.

    Returns the configuration of the bound listeners.
    """
    config = await listeners.servable(dynamic.config)
    try:
        await context.tasks.start(PLANES, listeners.run, data, control, config)
    except (OSError, ExceptionGroup) as error:
        leaf = only_leaf(error)
        if isinstance(leaf, OSError):
            raise listen_error(leaf) from error
        raise
    dynamic.follow(listeners.follow)
    return config
