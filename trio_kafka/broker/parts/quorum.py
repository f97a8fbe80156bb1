"""The metadata of the cluster: their log, the image that follows it, the controller who writes it.

An I/O error on the metadata log ends the broker: it may not go on without its metadata.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.broker.errors import StartError
from trio_kafka.broker.settings import controller_rules, metadata_log_config, metadata_retention
from trio_kafka.broker.site import Site
from trio_kafka.broker.storage import Storage
from trio_kafka.controller.controller import Controller
from trio_kafka.errors import LogDirError
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.metadata.features import SUPPORTED
from trio_kafka.metadata.image import ControllerRegistration, MetadataImage
from trio_kafka.metadata.publisher import Loader, MetadataCache
from trio_kafka.raft.driver import RaftDriver, open_quorum
from trio_kafka.raft.format import METADATA_PARTITION
from trio_kafka.raft.generator import SnapshotGenerator, SnapshotSettings
from trio_kafka.raft.voters import UnsupportedQuorumError

# The tasks, in the order in which they stop.
WRITERS: Final = ("controller", "snapshot-generator", "metadata")
LOG: Final = "raft"


@frozen(kw_only=True)
class Metadata:
    """The log and who follows it; `cache` has the newest image."""

    raft: RaftDriver
    loader: Loader
    cache: MetadataCache


async def open_metadata_log(site: Site, storage: Storage) -> RaftDriver:
    """Its files, recovered. Raises StartError where others vote, LogDirError."""
    directory = storage.metadata
    try:
        raft = await open_quorum(
            site.world,
            directory.root,
            node_id=site.node_id,
            directory_id=storage.directory_id,
            config=metadata_log_config(site.config),
            retention=metadata_retention(site.config),
            node=site.node,
            durable=directory.known(METADATA_PARTITION).recovery_point,
        )
    except UnsupportedQuorumError as error:
        raise StartError(f"{directory.path}: {error}") from error
    directory.durable_elsewhere = lambda: {METADATA_PARTITION: raft.durable_offset}
    return raft


async def load_metadata(site: Site, storage: Storage, raft: RaftDriver) -> Metadata:
    """Elect, and load what is committed. LogDirError."""
    cluster_id = storage.identity.cluster_id
    await site.tasks.start(LOG, on_disk(storage.metadata, raft.run))
    cache = MetadataCache(MetadataImage(cluster_id=cluster_id))
    elapsed = site.world.clock.elapsed
    loader = Loader(raft, [cache], cluster_id=cluster_id, elapsed=elapsed, node=site.node)
    await site.tasks.start("metadata", on_disk(storage.metadata, loader.run))
    return Metadata(raft=raft, loader=loader, cache=cache)


async def start_controller(site: Site, metadata: Metadata) -> Controller:
    """The active controller. LogDirError."""
    me = ControllerRegistration(
        id=site.node_id, incarnation_id=site.world.random_bytes(16), features=SUPPORTED
    )
    controller = Controller(
        metadata.raft,
        metadata.loader,
        me,
        controller_rules(site.config, site.world),
        site.node,
    )
    await site.tasks.start("controller", controller.run)
    return controller


async def start_snapshots(site: Site, storage: Storage, metadata: Metadata) -> None:
    """Snapshots of the image as the settings say; after all other publishers were added."""
    config = site.config
    settings = SnapshotSettings(
        max_record_bytes_between_snapshots=config.metadata_log_max_record_bytes_between_snapshots,
        max_snapshot_interval_ms=config.metadata_log_max_snapshot_interval_ms,
    )
    generator = SnapshotGenerator(metadata.raft, settings, site.node)
    metadata.loader.add(generator)
    await site.tasks.start("snapshot-generator", on_disk(storage.metadata, generator.run))


def on_disk(
    directory: LogDirectory, run: Callable[..., Awaitable[Any]]
) -> Callable[..., Awaitable[None]]:
    """`run`, whose I/O errors take `directory` offline and are LogDirError."""

    async def run_on_disk(*, task_status: trio.TaskStatus[Any]) -> None:
        try:
            await run(task_status=task_status)
        except (LogDirError, OSError) as error:
            lost = error if isinstance(error, LogDirError) else lost_by(directory, error)
            directory.fail(lost)
            raise lost from error

    return run_on_disk


def lost_by(directory: LogDirectory, error: OSError) -> LogDirError:
    """The directory is lost by an error of the system."""
    return LogDirError(directory.path, str(error))
