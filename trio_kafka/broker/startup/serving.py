"""The planes that clients talk to, and the parts that their handlers reach."""

from typing import Final

from trio_kafka.broker.errors import listen_error
from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.listening import Listening
from trio_kafka.broker.parts.connections import request_memory
from trio_kafka.broker.parts.features import ClusterFeatures
from trio_kafka.broker.parts.groups import make_groups
from trio_kafka.broker.parts.producer_ids import ProducerIds
from trio_kafka.broker.parts.topic_creation import TopicCreation
from trio_kafka.broker.settings import settings_of_topic
from trio_kafka.broker.site import Site
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.config_admin import ConfigAdmin
from trio_kafka.controller.controller import Controller
from trio_kafka.errors import only_leaf
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.effective import DynamicSettings, EffectiveConfig
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.plane import Plane
from trio_kafka.network.turn import Turn
from trio_kafka.purgatory import Timers
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.replication.manager import ReplicaManager
from trio_kafka.replication.publisher import ReplicaPublisher
from trio_kafka.requests.interceptors.registry import Interceptors
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.pool import HandlerGroup
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.throttling.throttle import Throttle

# The task.
PLANES: Final = "planes"
_CONTROL_QUEUED: Final = 20
_CONTROL_HANDLERS: Final = 1


def make_replicas(site: Site, logs: LogManager, timers: Timers) -> ReplicaManager:
    """The replicas of this broker; none before `replica_publisher` has begun."""
    return ReplicaManager(
        site.world,
        site.node_id,
        logs,
        timers,
        site.node,
        session_slots=site.config.max_incremental_fetch_session_cache_slots,
        session_partitions=site.config.trio_fetch_session_max_partitions,
        yield_point=site.yield_point,
    )


def replica_publisher(
    site: Site, replicas: ReplicaManager, effective: EffectiveConfig
) -> ReplicaPublisher:
    """Which replicas there are, as the metadata say."""
    return ReplicaPublisher(
        replicas,
        settings_of_topic(effective),
        full_validation=site.config.trio_record_validation == "full",
    )


def make_parts(
    site: Site,
    *,
    apis: Registry,
    controller: Controller,
    source: RaftDriver,
    metadata: MetadataCache,
    replicas: ReplicaManager,
    timers: Timers,
    lifecycle: Lifecycle,
    topic_creation: TopicCreation,
    effective: EffectiveConfig,
    listening: Listening,
    throttle: Throttle,
    limits: ConnectionLimits,
) -> Parts:
    """What handlers reach as `context.<part>`."""
    return Parts(
        apis=apis,
        node_id=site.node_id,
        cluster_id=metadata.image.cluster_id,
        features=ClusterFeatures(metadata, source),
        interceptors=Interceptors(apis, site.node.add("interceptors", "part")),
        config=site.config,
        configs=ConfigAdmin(
            site.node_id,
            controller,
            timeout_s=site.config.request_timeout_ms / 1000,
            prepare=listening.prepared,
        ),
        controller=controller,
        counters=site.counters,
        groups=make_groups(site, replicas, timers, topic_creation),
        lifecycle=lifecycle,
        limits=limits,
        metadata=metadata,
        producer_ids=ProducerIds(lifecycle.allocate_producer_ids, site.node),
        quotas=throttle,
        raft=source,
        replicas=replicas,
        settings=effective,
        topic_creation=topic_creation,
        tree=site.node,
    )


def make_data_plane(
    site: Site, parts: Parts, dynamic: DynamicSettings, limits: ConnectionLimits
) -> Plane:
    """What clients talk to: not bound yet."""
    site.node.add("counters", "part", site.counters.figures)
    size = dynamic.config.num_io_threads
    queued = site.config.queued_max_requests
    plane, group = _make_plane(site, parts, limits, "data", queued=queued, handlers=size)
    dynamic.follow(lambda config: group.resize(config.num_io_threads))
    return plane


def make_control_plane(
    site: Site, parts: Parts, limits: ConnectionLimits, data: Plane
) -> Plane | None:
    """What `control.plane.listener.name` asks for: sizes are those that Kafka's had (KIP-291)."""
    if site.config.endpoints.control is None:
        return None
    plane, _ = _make_plane(
        site, parts, limits, "control", queued=_CONTROL_QUEUED, handlers=_CONTROL_HANDLERS
    )
    data.give_way_to(plane)
    site.yield_point.bind(data.between)
    return plane


def _make_plane(
    site: Site, parts: Parts, limits: ConnectionLimits, name: str, *, queued: int, handlers: int
) -> tuple[Plane, HandlerGroup]:
    node = site.node.add(f"plane {name}", "plane")
    turn = Turn(site.world.clock.elapsed, rounds=site.rounds)
    channel = RequestChannel(queued, node, turn.elapsed)
    group = HandlerGroup(
        channel,
        parts,
        turn=turn,
        counters=site.counters,
        node=node,
        size=handlers,
        name=f"{name}-plane-kafka-request-handler",
    )
    plane = Plane(
        name,
        site.world,
        channel,
        group,
        turn=turn,
        counters=site.counters,
        node=node,
        node_id=site.config.node_id,
        lives=site.config.trio_request_lives,
        limits=limits,
        memory=request_memory(site.config, turn.elapsed),
    )
    parts.planes.append(plane)
    return plane, group


async def bind_planes(
    site: Site,
    listening: Listening,
    data: Plane,
    control: Plane | None,
    dynamic: DynamicSettings,
) -> BrokerConfig:
    """Bind the listeners; they accept nothing before `open` of their planes. StartError.

    Returns the configuration whose listeners are bound.
    """
    config = await listening.servable(dynamic.config)
    try:
        await site.tasks.start(PLANES, listening.run, data, control, config)
    except (OSError, ExceptionGroup) as error:
        leaf = only_leaf(error)
        if isinstance(leaf, OSError):
            raise listen_error(leaf) from error
        raise
    dynamic.follow(listening.follow)
    return config
