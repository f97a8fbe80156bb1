"""Cluster metadata: their log, the image built from it, and the controller that writes it.

An I/O error on the metadata log stops the broker, which cannot run without its metadata.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.broker.build_context import BuildContext
from trio_kafka.broker.errors import StartError
from trio_kafka.broker.settings import controller_rules, metadata_log_config, metadata_retention
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
from trio_kafka.raft.store import open_store
from trio_kafka.raft.voters import UnsupportedQuorumError, Voter, VoterSet

# Task names, in the order of the stop.
WRITERS: Final = ("controller", "snapshot-generator", "metadata")
LOG: Final = "raft"


@frozen(kw_only=True)
class Metadata:
    """The metadata log and its readers; `cache` has the newest image."""

    raft: RaftDriver
    loader: Loader
    cache: MetadataCache


async def open_metadata_log(context: BuildContext, storage: Storage) -> RaftDriver:
    """Open and recover the metadata log. Raises StartError if other nodes vote, LogDirError."""
    directory = storage.metadata
    try:
        store = await open_store(
            context.world,
            directory.root,
            metadata_log_config(context.config),
            static=_static_voters(context),
            retention=metadata_retention(context.config),
            durable=directory.known(METADATA_PARTITION).recovery_point,
        )
        raft = await open_quorum(
            store,
            node_id=context.node_id,
            directory_id=storage.directory_id,
            node=context.node,
        )
    except UnsupportedQuorumError as error:
        raise StartError(f"{directory.path}: {error}") from error
    directory.durable_elsewhere = lambda: {METADATA_PARTITION: raft.durable_offset}
    return raft


def _static_voters(context: BuildContext) -> VoterSet | None:
    """Return the voter of `controller.quorum.voters`: this node, as settings allow no other."""
    if not context.config.controller_quorum_voters:
        return None
    return VoterSet(kraft_version=0, voters=(Voter(context.node_id),))


async def load_metadata(context: BuildContext, storage: Storage, raft: RaftDriver) -> Metadata:
    """Elect a leader and load the committed records. LogDirError."""
    cluster_id = storage.identity.cluster_id
    await context.tasks.start(LOG, on_disk(storage.metadata, raft.run))
    cache = MetadataCache(MetadataImage(cluster_id=cluster_id))
    elapsed = context.world.clock.elapsed
    loader = Loader(raft, [cache], cluster_id=cluster_id, elapsed=elapsed, node=context.node)
    await context.tasks.start("metadata", on_disk(storage.metadata, loader.run))
    return Metadata(raft=raft, loader=loader, cache=cache)


async def start_controller(context: BuildContext, metadata: Metadata) -> Controller:
    """Start the active controller. LogDirError."""
    me = ControllerRegistration(
        id=context.node_id, incarnation_id=context.world.random_bytes(16), features=SUPPORTED
    )
    controller = Controller(
        metadata.raft,
        metadata.loader,
        me,
        controller_rules(context.config, context.world),
        context.node,
    )
    await context.tasks.start("controller", controller.run)
    return controller


async def start_snapshots(context: BuildContext, storage: Storage, metadata: Metadata) -> None:
    """Start writing snapshots of the image; call after all other publishers were added."""
    config = context.config
    settings = SnapshotSettings(
        max_record_bytes_between_snapshots=config.metadata_log_max_record_bytes_between_snapshots,
        max_snapshot_interval_ms=config.metadata_log_max_snapshot_interval_ms,
    )
    generator = SnapshotGenerator(metadata.raft, settings, context.node)
    metadata.loader.add(generator)
    await context.tasks.start("snapshot-generator", on_disk(storage.metadata, generator.run))


def on_disk(
    directory: LogDirectory, run: Callable[..., Awaitable[Any]]
) -> Callable[..., Awaitable[None]]:
    """Wrap a task function: its I/O errors take `directory` offline and become LogDirError."""

    async def run_on_disk(*, task_status: trio.TaskStatus[Any]) -> None:
        try:
            await run(task_status=task_status)
        except (LogDirError, OSError) as error:
            lost = error if isinstance(error, LogDirError) else lost_by(directory, error)
            directory.fail(lost)
            raise lost from error

    return run_on_disk


def lost_by(directory: LogDirectory, error: OSError) -> LogDirError:
    """Make the LogDirError of a system error."""
    return LogDirError(directory.path, str(error))
