"""The start of a broker, step by step; the order is that of docs/design/start-and-stop.md."""

from collections.abc import Sequence

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.broker.broker import Broker
from trio_kafka.broker.errors import StartError, storage_error
from trio_kafka.broker.jobs import add_jobs
from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.listeners import advertised_endpoints
from trio_kafka.broker.listening import Listening
from trio_kafka.broker.parts.connections import make_limits, start_limits
from trio_kafka.broker.parts.groups import start_groups
from trio_kafka.broker.parts.plugins import make_host, start_plugins
from trio_kafka.broker.parts.quorum import (
    Metadata,
    load_metadata,
    open_metadata_log,
    start_controller,
    start_snapshots,
)
from trio_kafka.broker.parts.quotas import make_throttle, start_quotas
from trio_kafka.broker.parts.request_log import start_request_log
from trio_kafka.broker.parts.topic_creation import TopicCreation, creator, internal_topics
from trio_kafka.broker.parts.watchdog import start_watchdog
from trio_kafka.broker.settings import settings_of_topic
from trio_kafka.broker.site import Site
from trio_kafka.broker.startup.serving import (
    bind_planes,
    make_control_plane,
    make_data_plane,
    make_parts,
    make_replicas,
    replica_publisher,
)
from trio_kafka.broker.steps import Steps
from trio_kafka.broker.storage import Storage, open_storage
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.errors import InvariantError, LogDirError, only_leaf
from trio_kafka.log.files.partition_metadata import parse_id
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.identity import IdentityError
from trio_kafka.log.manager.loading import load_logs
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.effective import DynamicSettings, EffectiveConfig
from trio_kafka.metadata.image import ListenerEndpoint
from trio_kafka.periodic_jobs import Scheduler
from trio_kafka.plugin_host.declared import Plugin
from trio_kafka.purgatory import Timers
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.replication.manager import ReplicaManager
from trio_kafka.replication.settings import log_config
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.registry import Registry


@define(eq=False, kw_only=True)
class Start:
    """Starts a broker on `site`. What holds files and locks is kept here from the moment it does,
    so that `abandon` can give them back wherever the start ends.
    """

    site: Site
    apis: Registry
    format_if_empty: bool
    open_files: int
    plugins: Sequence[Plugin] | None = None
    _logs: LogManager | None = field(default=None, init=False)
    _storage: Storage | None = field(default=None, init=False)
    _raft: RaftDriver | None = field(default=None, init=False)
    _replicas: ReplicaManager | None = field(default=None, init=False)

    async def run(self) -> Broker:
        """All steps. Raises StartError, KafkaError, LogDirError."""
        site = self.site
        steps = Steps("start", site.world.clock.elapsed, site.node)
        scheduler, timers = Scheduler(site.node), Timers(site.node)
        with steps.step("scheduler"):
            await site.tasks.start("scheduler", scheduler.run)
            await site.tasks.start("timers", _run_timers, timers)
        logs = self._logs = LogManager(
            site.world,
            site.config.directories,
            site.node,
            self._directory_failed,
            open_files=self.open_files,
            threads=site.config.background_threads,
            yield_point=site.yield_point,
        )
        with steps.step("log directories"):
            storage = self._storage = await open_storage(
                site.world, site.config, logs, format_if_empty=self.format_if_empty
            )
        with steps.step("metadata"):
            metadata = await self._load_metadata(storage)
        effective = EffectiveConfig(site.config)
        with steps.step("controller"):
            controller = await start_controller(site, metadata)
        with steps.step("log manager"):
            await self._load_logs(logs, metadata, effective)
        replicas = self._replicas = make_replicas(site, logs, timers)
        creation = TopicCreation(creator(controller, internal_topics(site.config)), site.node)
        lifecycle = Lifecycle(
            site.node_id, site.world.random_bytes(16), controller, metadata.cache, site.node
        )
        listening = Listening(site.world.network, site.config, site.node)
        parts = make_parts(
            site,
            apis=self.apis,
            controller=controller,
            source=metadata.raft,
            metadata=metadata.cache,
            replicas=replicas,
            timers=timers,
            lifecycle=lifecycle,
            topic_creation=creation,
            effective=effective,
            listening=listening,
            throttle=make_throttle(site, timers),
            limits=make_limits(site),
        )
        # No checkpoint between these two: no image may come between.
        dynamic = DynamicSettings(effective, metadata.cache.image)
        metadata.loader.add(dynamic)
        dynamic.follow(lambda config: _resize(config.background_threads, logs, storage))
        await start_limits(site, parts.limits, dynamic)
        plane = make_data_plane(site, parts, dynamic, parts.limits)
        control = make_control_plane(site, parts, parts.limits, plane)
        await start_quotas(parts.quotas.quotas, parts.limits, metadata.loader, scheduler)
        with steps.step("network"):
            host_name = await self._host_name(dynamic.config)
            bound = await bind_planes(site, listening, plane, control, dynamic)
            advertised = advertised_endpoints(bound, listening.endpoints, host_name)
        with steps.step("replication"):
            await self._start_replicas(parts, effective, metadata, dynamic)
        with steps.step("upkeep"):
            await start_snapshots(site, storage, metadata)
            await site.tasks.start("auto-topic-creation", creation.run)
            add_jobs(scheduler, site.config, logs, lambda: dynamic.config)
        with steps.step("registration"):
            await lifecycle.register(
                advertised,
                _directory_ids(logs),
                site.config.broker_rack,
                timeout_s=site.config.initial_broker_registration_timeout_ms / 1000,
            )
        with steps.step("unfence"):
            await lifecycle.unfence()
        request_log = await start_request_log(site, parts, dynamic)
        host = make_host(site, parts, self.plugins)
        await start_watchdog(site, plane.turn, host)
        with steps.step("plugins"):
            await start_plugins(site, host)
        for one in parts.planes:
            one.open()
        lifecycle.serve()
        return Broker(
            site=site,
            storage=storage,
            logs=logs,
            raft=metadata.raft,
            metadata=metadata.cache,
            controller=controller,
            replicas=replicas,
            groups=parts.groups,
            planes=tuple(parts.planes),
            listening=listening,
            limits=parts.limits,
            plugins=host,
            request_log=request_log,
            parts=parts,
            lifecycle=lifecycle,
            advertised=_by_name(advertised),
            start=steps,
        )

    def abandon(self) -> None:
        """Give back locks and files of a broker that was not stopped in order. Idempotent."""
        for part in (self._raft, self._logs, self._storage):
            if part is not None:
                part.abandon()

    async def _load_metadata(self, storage: Storage) -> Metadata:
        try:
            raft = self._raft = await open_metadata_log(self.site, storage)
            return await load_metadata(self.site, storage, raft)
        except LogDirError as error:
            raise storage_error(error) from error

    async def _load_logs(
        self, logs: LogManager, metadata: Metadata, effective: EffectiveConfig
    ) -> None:
        """With the settings of the first image."""
        image, of_topic = metadata.cache.image, settings_of_topic(effective)
        try:
            await load_logs(
                logs,
                lambda at: log_config(of_topic(image, at.topic)),
                delete_delay_ms=effective.of(image).log_segment_delete_delay_ms,
                topic_id_of=lambda name: topic.id if (topic := image.topics.get(name)) else None,
                producers_silent_ms=self.site.config.producer_id_expiration_ms,
                at_once=effective.of(image).num_recovery_threads_per_data_dir,
            )
        except ExceptionGroup as error:
            leaf = only_leaf(error)
            if isinstance(leaf, IdentityError):
                raise StartError(f"{leaf}: remove one of them") from error
            raise
        await self.site.tasks.start("log-manager", logs.run)

    async def _start_replicas(
        self,
        parts: Parts,
        effective: EffectiveConfig,
        metadata: Metadata,
        dynamic: DynamicSettings,
    ) -> None:
        publisher = replica_publisher(self.site, parts.replicas, effective)
        # No checkpoint between these two: no image may come between.
        steps = publisher.start(metadata.cache.image)
        metadata.loader.add(publisher)
        for _ in steps:
            await trio.lowlevel.checkpoint()
        await self.site.tasks.start("replication", parts.replicas.run)
        await start_groups(self.site, parts.groups, metadata, dynamic)

    async def _host_name(self, config: BrokerConfig) -> str:
        if all(one.endpoint.host for one in config.endpoints.advertised):
            return ""
        return await self.site.world.network.host_name()

    def _directory_failed(self, directory: LogDirectory) -> None:
        """A log directory has just gone offline: its replicas too; the broker, if it must."""
        logs, error = self._logs, directory.offline
        if logs is None or error is None:
            raise InvariantError(f"{directory.path} failed without being there")
        if self._replicas is not None:
            self._replicas.directory_offline(directory)
        lost = directory.path == self.site.config.metadata_directory
        if lost or all(one.offline for one in logs.directories):
            self.site.tasks.fail(error)


def _resize(threads: int, logs: LogManager, storage: Storage) -> None:
    """Let so many threads work in each directory."""
    logs.resize(threads)
    storage.resize(threads)


def _directory_ids(logs: LogManager) -> list[bytes]:
    """Of the directories that serve."""
    return [
        parse_id(one.properties.directory_id)
        for one in logs.directories
        if one.properties and one.properties.directory_id and not one.offline
    ]


def _by_name(advertised: list[ListenerEndpoint]) -> dict[str, ListenerEndpoint]:
    return {one.name: one for one in advertised}


async def _run_timers(timers: Timers, *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    await timers.run()
