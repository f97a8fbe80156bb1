"""The start of a broker, step by step; the order is that of docs/design.

Each step is a function on `Start`, which collects the parts; how long each took is logged and kept.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import trio
from attrs import define, field

from trio_kafka.broker.broker import Broker
from trio_kafka.broker.errors import StartError
from trio_kafka.broker.features import ClusterFeatures
from trio_kafka.broker.jobs import add_jobs
from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.listeners import advertised_endpoints, listener_settings
from trio_kafka.broker.producer_ids import ProducerIds
from trio_kafka.broker.running import Running, start_part
from trio_kafka.broker.settings import (
    controller_rules,
    metadata_log_config,
    settings_of_topic,
)
from trio_kafka.broker.storage import Storage, open_storage
from trio_kafka.broker.topic_creation import TopicCreation
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.controller import Controller
from trio_kafka.controller.topics import NewTopic
from trio_kafka.errors import InvariantError, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.log.directory import LogDirectory
from trio_kafka.log.manager import LogManager
from trio_kafka.log.partition_metadata import parse_id
from trio_kafka.metadata.image import ControllerRegistration, MetadataImage
from trio_kafka.metadata.publisher import Loader, MetadataCache
from trio_kafka.model import NodeId
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.plane import Plane
from trio_kafka.network.turn import Turn
from trio_kafka.purgatory import Timers
from trio_kafka.raft.driver import RaftDriver, open_quorum
from trio_kafka.raft.voters import UnsupportedQuorumError
from trio_kafka.replication.manager import ReplicaManager
from trio_kafka.replication.settings import log_config
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.pool import HandlerGroup
from trio_kafka.requests.registry import Registry
from trio_kafka.scheduler import Scheduler
from trio_kafka.world.protocols import World

_logger: Final = get_logger(__name__)


@define(eq=False, kw_only=True)
class Start:
    """What is there so far. `nursery` owns every task; `apis` are the handlers."""

    world: World
    config: BrokerConfig
    apis: Registry
    nursery: trio.Nursery
    format_if_empty: bool
    node: Node
    counters: Counters = field(factory=Counters)
    running: dict[str, Running] = field(factory=dict)
    started: dict[str, float] = field(factory=dict)
    logs: LogManager | None = None
    raft: RaftDriver | None = None
    replicas: ReplicaManager | None = None

    async def run(self) -> Broker:
        """All steps. Raises StartError, OSError (an address in use), KafkaError, LogDirError."""
        began = self.world.clock.elapsed()
        node_id = NodeId(self.config.node_id)
        scheduler = Scheduler(self.node)
        timers = Timers(self.node)
        logs = self.logs = LogManager(
            self.world, self.config.directories, self.node, self._directory_failed
        )
        await self._step("scheduler", self._start_upkeep(scheduler, timers))
        storage = await self._step("log directories", self._open_storage(logs))
        raft, loader, metadata = await self._step("raft", self._start_raft(storage))
        controller = await self._step("controller", self._start_controller(raft, loader))
        await self._step("log manager", self._load_logs(logs, metadata.image))
        replicas = self.replicas = self._make_replicas(logs, timers)
        replicas.start(metadata.image)  # no checkpoint from here on: no image may come between
        loader.add(replicas)
        await self._step("replication", self._start("replication", replicas.run))
        lifecycle = Lifecycle(node_id, self.world.random_bytes(16), controller, metadata, self.node)
        parts = self._make_parts(lifecycle, controller, metadata, replicas)
        plane = self._make_plane(parts)
        endpoints = await self._step("network", self._start_plane(plane))
        await self._step("jobs", self._start_jobs(scheduler, logs, parts))
        directories = [
            parse_id(one.properties.directory_id)
            for one in logs.directories
            if one.properties and one.properties.directory_id and not one.offline
        ]
        await self._step(
            "registration",
            lifecycle.register(
                advertised_endpoints(self.config, endpoints, await self._host_name()),
                directories,
                self.config.broker_rack,
            ),
        )
        await self._step("unfence", lifecycle.unfence())
        plane.open()
        took = self.world.clock.elapsed() - began
        names = [listener.name for listener in self.config.endpoints.broker]
        broker = Broker(
            world=self.world,
            config=self.config,
            node=self.node,
            counters=self.counters,
            storage=storage,
            logs=logs,
            raft=raft,
            metadata=metadata,
            controller=controller,
            replicas=replicas,
            plane=plane,
            parts=parts,
            lifecycle=lifecycle,
            endpoints=dict(zip(names, endpoints, strict=True)),
            running=self.running,
            started=self.started,
        )
        _logger.info(
            "broker started",
            node=node_id,
            cluster=storage.identity.cluster_id,
            took_ms=round(took * 1000),
            listeners=",".join(f"{name}://{at}" for name, at in broker.endpoints.items()),
        )
        return broker

    async def _step(self, name: str, step: Awaitable[Any]) -> Any:
        began = self.world.clock.elapsed()
        result = await step
        self.started[name] = took = self.world.clock.elapsed() - began
        _logger.debug("started", part=name, took_ms=round(took * 1000, 1))
        return result

    async def _start(self, name: str, call: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        self.running[name] = running = await start_part(self.nursery, name, call, *args)
        return running.value

    # The steps, in their order

    async def _start_upkeep(self, scheduler: Scheduler, timers: Timers) -> None:
        await self._start("scheduler", scheduler.run)
        await self._start("timers", _run_timers, timers)

    async def _open_storage(self, logs: LogManager) -> Storage:
        return await open_storage(
            self.world, self.config, logs, format_if_empty=self.format_if_empty
        )

    async def _start_raft(self, storage: Storage) -> tuple[RaftDriver, Loader, MetadataCache]:
        """Elect, and load what is committed."""
        try:
            raft = await open_quorum(
                self.world,
                storage.root,
                node_id=NodeId(self.config.node_id),
                directory_id=storage.directory_id,
                config=metadata_log_config(self.config),
                node=self.node,
            )
        except UnsupportedQuorumError as error:
            raise StartError(str(error)) from error
        self.raft = raft
        await self._start("raft", raft.run)
        metadata = MetadataCache(MetadataImage(cluster_id=storage.identity.cluster_id))
        loader = Loader(raft, [metadata], cluster_id=storage.identity.cluster_id, node=self.node)
        await self._start("metadata", loader.run)
        return raft, loader, metadata

    async def _start_controller(self, raft: RaftDriver, loader: Loader) -> Controller:
        me = ControllerRegistration(
            id=NodeId(self.config.node_id), incarnation_id=self.world.random_bytes(16)
        )
        controller = Controller(
            raft, loader, me, controller_rules(self.config, self.world), self.node
        )
        await self._start("controller", controller.run)
        return controller

    async def _load_logs(self, logs: LogManager, image: MetadataImage) -> None:
        topic_settings = settings_of_topic(self.config)
        await logs.load(
            lambda at: log_config(topic_settings(image, at.topic)),
            delete_delay_ms=self.config.log_segment_delete_delay_ms,
        )
        await self._start("log-manager", logs.run)

    def _make_replicas(self, logs: LogManager, timers: Timers) -> ReplicaManager:
        return ReplicaManager(
            self.world,
            NodeId(self.config.node_id),
            logs,
            timers,
            self.node,
            settings_of=settings_of_topic(self.config),
            session_slots=self.config.max_incremental_fetch_session_cache_slots,
            full_validation=self.config.trio_record_validation == "full",
        )

    def _make_parts(
        self,
        lifecycle: Lifecycle,
        controller: Controller,
        metadata: MetadataCache,
        replicas: ReplicaManager,
    ) -> Parts:
        async def create(names: Sequence[str]) -> dict[str, KafkaError | None]:
            made = await controller.create_topics([NewTopic(name=name) for name in names])
            return {
                name: one if isinstance(one, KafkaError) else None for name, one in made.items()
            }

        return Parts(
            apis=self.apis,
            node_id=NodeId(self.config.node_id),
            cluster_id=metadata.image.cluster_id,
            features=ClusterFeatures(metadata),
            config=self.config,
            controller=controller,
            metadata=metadata,
            producer_ids=ProducerIds(lifecycle.allocate_producer_ids, self.node),
            replicas=replicas,
            topic_creation=TopicCreation(create, self.node),
            tree=self.node,
        )

    def _make_plane(self, parts: Parts) -> Plane:
        node = self.node.add("plane data", "plane")
        turn = Turn(self.world.clock.elapsed)
        channel = RequestChannel(self.config.queued_max_requests, node)
        group = HandlerGroup(
            channel,
            parts,
            turn=turn,
            counters=self.counters,
            node=node,
            size=self.config.num_io_threads,
        )
        return Plane(
            "data",
            self.world,
            channel,
            group,
            turn=turn,
            counters=self.counters,
            node=node,
            node_id=self.config.node_id,
        )

    async def _start_plane(self, plane: Plane) -> Any:
        """Bound, and not accepting before `open`."""
        return await self._start("plane data", plane.run, listener_settings(self.config))

    async def _start_jobs(
        self,
        scheduler: Scheduler,
        logs: LogManager,
        parts: Parts,
    ) -> None:
        creation = parts.topic_creation
        if not isinstance(creation, TopicCreation):
            raise InvariantError("the broker's own topic creation")
        await self._start("auto-topic-creation", creation.run)
        add_jobs(scheduler, self.config, logs)

    # Others

    def abandon(self) -> None:
        """Give back locks and files of a broker that was not stopped in order. Idempotent."""
        if self.raft is not None:
            self.raft.abandon()
        if self.logs is not None:
            self.logs.abandon()

    async def _host_name(self) -> str:
        if all(one.endpoint.host for one in self.config.endpoints.advertised):
            return ""
        return await self.world.network.host_name()

    def _directory_failed(self, directory: LogDirectory) -> None:
        if self.replicas is not None:
            self.replicas.directory_offline(directory)


async def _run_timers(timers: Timers, *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    await timers.run()
