"""Start of a broker, step by step, in the order of docs/design/start-and-stop.md."""

from collections.abc import Sequence

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.broker.build_context import BuildContext
from trio_kafka.broker.dynamic_listeners import DynamicListeners
from trio_kafka.broker.errors import StartError, storage_error
from trio_kafka.broker.jobs import add_jobs
from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.listeners import advertised_endpoints
from trio_kafka.broker.parts.cleaner import make_cleaner, start_cleaner
from trio_kafka.broker.parts.connections import start_limits
from trio_kafka.broker.parts.groups import start_groups
from trio_kafka.broker.parts.plugins import make_host, start_plugins
from trio_kafka.broker.parts.quorum import (
    Metadata,
    load_metadata,
    open_metadata_log,
    start_controller,
    start_snapshots,
)
from trio_kafka.broker.parts.quotas import start_quotas
from trio_kafka.broker.parts.request_log import start_request_log
from trio_kafka.broker.parts.topic_creation import make_topic_creation
from trio_kafka.broker.parts.watchdog import start_watchdog
from trio_kafka.broker.running_broker import RunningBroker
from trio_kafka.broker.settings import settings_of_topic
from trio_kafka.broker.startup.serving import (
    bind_planes,
    make_control_plane,
    make_data_plane,
    make_parts,
    make_replicas,
    replica_publisher,
)
from trio_kafka.broker.step_timings import StepTimings
from trio_kafka.broker.storage import Storage, open_storage
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.errors import InvariantError, LogDirError, only_leaf
from trio_kafka.log.files.partition_metadata import format_id, parse_id
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.identity import IdentityError
from trio_kafka.log.manager.loading import load_logs
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import NodeId, TopicPartition
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.purgatory import Timers
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.replication.manager import ReplicaManager
from trio_kafka.replication.settings import log_config
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.registry import Registry


@define(eq=False, kw_only=True)
class Startup:
    """Start of one broker.

    Parts that hold files and locks are kept here as soon as they exist, so that `abandon` can
    release them wherever the start ends.
    """

    context: BuildContext
    apis: Registry
    format_if_empty: bool
    open_files: int
    plugins: Sequence[Plugin] | None = None
    _logs: LogManager | None = field(default=None, init=False)
    _storage: Storage | None = field(default=None, init=False)
    _raft: RaftDriver | None = field(default=None, init=False)
    _replicas: ReplicaManager | None = field(default=None, init=False)

    async def run(self) -> RunningBroker:
        """Run all steps. Raises StartError, KafkaError, LogDirError."""
        context = self.context
        steps = StepTimings("start", context.world.clock.elapsed, context.node)
        with steps.step("scheduler"):
            await context.tasks.start("scheduler", context.scheduler.run)
            await context.tasks.start("timers", _run_timers, context.timers)
        logs = self._logs = self._make_logs()
        with steps.step("log directories"):
            storage = self._storage = await open_storage(
                context.world, context.config, logs, format_if_empty=self.format_if_empty
            )
        with steps.step("metadata"):
            metadata = await self._load_metadata(storage)
        with steps.step("controller"):
            controller = await start_controller(context, metadata)
        with steps.step("log manager"):
            await self._load_logs(logs, metadata)
        lifecycle = Lifecycle(
            context.node_id,
            context.world.random_bytes(16),
            controller,
            metadata.cache,
            context.node,
        )
        replicas = self._replicas = make_replicas(context, logs, lifecycle)
        creation = make_topic_creation(context, controller)
        listeners = DynamicListeners(context.world.network, context.config, context.node)
        parts = make_parts(
            context,
            apis=self.apis,
            metadata=metadata,
            controller=controller,
            replicas=replicas,
            lifecycle=lifecycle,
            cleaner=make_cleaner(context, logs),
            topic_creation=creation,
            listeners=listeners,
        )
        # No checkpoint between the next two statements: no image may be published in between.
        dynamic = DynamicSettings(context.effective, metadata.cache.image)
        metadata.loader.add(dynamic)
        dynamic.follow(lambda config: _obey(config, storage, replicas, lifecycle))
        await start_limits(context, parts.limits, dynamic)
        plane = make_data_plane(context, parts, dynamic)
        control = make_control_plane(context, parts)
        await start_quotas(parts.quotas.quotas, parts.limits, metadata.loader, context.scheduler)
        with steps.step("network"):
            host_name = await self._host_name(dynamic.config)
            bound = await bind_planes(context, listeners, plane, control, dynamic)
            advertised = advertised_endpoints(bound, listeners.endpoints, host_name)
        with steps.step("replication"):
            await self._start_replicas(parts, metadata, dynamic)
        with steps.step("upkeep"):
            await start_snapshots(context, storage, metadata)
            await context.tasks.start("auto-topic-creation", creation.run)
            add_jobs(context.scheduler, context.config, logs, lambda: dynamic.config)
            await start_cleaner(context, parts.cleaner, dynamic)
        with steps.step("registration"):
            await lifecycle.register(
                advertised,
                _directory_ids(logs),
                context.config.broker_rack,
                timeout_s=context.config.initial_broker_registration_timeout_ms / 1000,
            )
            await context.tasks.start("lifecycle-manager", lifecycle.run)
        with steps.step("unfence"):
            await lifecycle.unfence()
        request_log = await start_request_log(context, parts, dynamic)
        host = make_host(context, parts, self.plugins)
        await start_watchdog(context, plane.budget, host)
        with steps.step("plugins"):
            await start_plugins(context, host)
        for one in parts.planes:
            one.open()
        lifecycle.serve()
        return RunningBroker(
            context=context,
            parts=parts,
            storage=storage,
            logs=logs,
            lifecycle=lifecycle,
            listeners=listeners,
            plugins=host,
            request_log=request_log,
            advertised={one.name: one for one in advertised},
            start=steps,
        )

    def abandon(self) -> None:
        """Release locks and files of a broker that was not stopped in order. Idempotent."""
        for part in (self._raft, self._logs, self._storage):
            if part is not None:
                part.abandon()

    def _make_logs(self) -> LogManager:
        config = self.context.config
        return LogManager(
            self.context.world,
            config.directories,
            self.context.node,
            self._on_directory_failure,
            open_files=self.open_files,
            threads=config.background_threads,
            yield_point=self.context.yield_point,
        )

    async def _load_metadata(self, storage: Storage) -> Metadata:
        try:
            raft = self._raft = await open_metadata_log(self.context, storage)
            return await load_metadata(self.context, storage, raft)
        except LogDirError as error:
            raise storage_error(error) from error

    async def _load_logs(self, logs: LogManager, metadata: Metadata) -> None:
        """Load all logs with the settings of the first image."""
        image, effective = metadata.cache.image, self.context.effective
        of_topic = settings_of_topic(effective)
        try:
            await load_logs(
                logs,
                lambda at: log_config(of_topic(image, at.topic)),
                delete_delay_ms=effective.of(image).log_segment_delete_delay_ms,
                topic_id_of=lambda name: topic.id if (topic := image.topics.get(name)) else None,
                directory_of=lambda at: _directory_of(image, at, self.context.node_id),
                producers_silent_ms=self.context.config.producer_id_expiration_ms,
                at_once=effective.of(image).num_recovery_threads_per_data_dir,
            )
        except ExceptionGroup as error:
            leaf = only_leaf(error)
            if isinstance(leaf, IdentityError):
                raise StartError(f"{leaf}: remove one of them") from error
            raise
        await self.context.tasks.start("log-manager", logs.run)

    async def _start_replicas(
        self, parts: Parts, metadata: Metadata, dynamic: DynamicSettings
    ) -> None:
        publisher = replica_publisher(self.context, parts.replicas)
        # No checkpoint between the next two statements: no image may be published in between.
        steps = publisher.start(metadata.cache.image)
        metadata.loader.add(publisher)
        for _ in steps:
            await trio.lowlevel.checkpoint()
        await self.context.tasks.start("replication", parts.replicas.run)
        await start_groups(self.context, parts.groups, metadata, dynamic)

    async def _host_name(self, config: BrokerConfig) -> str:
        if all(one.endpoint.host for one in config.endpoints.advertised):
            return ""
        return await self.context.world.network.host_name()

    def _on_directory_failure(self, directory: LogDirectory) -> None:
        """Take the replicas of an offline directory offline; stop the broker if it must stop."""
        logs, error = self._logs, directory.offline
        if logs is None or error is None:
            raise InvariantError(f"{directory.path} reported a failure without being offline")
        if self._replicas is not None:
            self._replicas.directory_offline(directory)
        lost = directory.path == self.context.config.metadata_directory
        if lost or all(one.offline for one in logs.directories):
            self.context.tasks.fail(error)


def _obey(
    config: BrokerConfig, storage: Storage, replicas: ReplicaManager, lifecycle: Lifecycle
) -> None:
    """Apply settings of the directories: their threads, which are cordoned, the rate of moves."""
    logs = replicas.logs
    logs.resize(config.background_threads)
    storage.resize(config.background_threads)
    replicas.moves.pace.set_rate(config.replica_alter_log_dirs_io_max_bytes_per_second)
    logs.cordon(config.cordoned_log_dirs)
    lifecycle.cordon(
        [
            parse_id(one.properties.directory_id)
            for one in logs.directories
            if one.properties and one.properties.directory_id and logs.is_cordoned(one)
        ]
    )


def _directory_ids(logs: LogManager) -> list[bytes]:
    """Return the ids of the online directories."""
    return [
        parse_id(one.properties.directory_id)
        for one in logs.directories
        if one.properties and one.properties.directory_id and not one.offline
    ]


def _directory_of(image: MetadataImage, at: TopicPartition, node: NodeId) -> str | None:
    """Return the id of the directory that the metadata name for a replica of this broker."""
    state = image.partition(at)
    return None if state is None or node not in state.replicas else format_id(state.directory(node))


async def _run_timers(timers: Timers, *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    await timers.run()
