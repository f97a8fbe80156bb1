"""Whose data directories these are: found out at start.

All are locked, and belong to this node and to one cluster, or the broker does not start. A
directory that cannot be read is offline and the others serve, but for the one with the metadata
log. Source: KIP-631, KIP-858.
"""

from collections.abc import Iterable

from trio_kafka.attributes import frozen
from trio_kafka.broker.errors import StartError, storage_error
from trio_kafka.broker.formatting import format_storage
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.errors import LogDirError
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.identity import IdentityError
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.manager.meta_properties import NAME as META_PROPERTIES
from trio_kafka.log.manager.meta_properties import MetaProperties
from trio_kafka.log.partition_metadata import parse_id
from trio_kafka.world.world import World


@frozen(kw_only=True)
class Storage:
    """identity: of `metadata`, the directory with the metadata log; apart: it is none of log.dirs,
    so that LogManager does not know it.
    """

    identity: MetaProperties
    metadata: LogDirectory
    apart: bool

    @property
    def directory_id(self) -> bytes:
        """Of the directory that has the metadata log."""
        return parse_id(self.identity.directory_id or "")

    def resize(self, threads: int) -> None:
        """Let so many threads work in that directory from now on; see `LogManager.resize`."""
        if self.apart:
            self.metadata.root.resize(threads)

    async def close(self, broker_epoch: int) -> None:
        """Give up the directory that only the metadata log is in; the others are LogManager's."""
        if self.apart:
            await self.metadata.close(broker_epoch)

    def abandon(self) -> None:
        """Give its lock back and nothing else. Idempotent."""
        if self.apart:
            self.metadata.abandon()


async def open_storage(
    world: World,
    config: BrokerConfig,
    logs: LogManager,
    *,
    format_if_empty: bool,
    cluster_id: str | None = None,
    refuse_formatted: bool = False,
) -> Storage:
    """Lock all directories, check that they belong together, format them where that is allowed.

    cluster_id: of a formatting; None: a new one. refuse_formatted: there must be something to
    format. Raises StartError, which says what to do; no lock is left then but those of `logs`.
    """
    apart = config.metadata_directory not in config.directories
    metadata: LogDirectory | None = None
    try:
        await logs.open()
        _refuse_used(logs)
        metadata = await _open_apart(world, config) if apart else _find(config, logs)
        if refuse_formatted and metadata.properties is not None:
            raise StartError(
                f"{metadata.path} is formatted already:"
                f" cluster {metadata.properties.cluster_id}: name an empty"
                f" directory, or leave it as it is with --ignore-formatted"
            )
        if format_if_empty:
            await format_storage(world, config, metadata, logs, cluster_id)
        identity = _identity(config, metadata)
        await logs.identify(identity)
    except BaseException as error:
        if apart and metadata is not None:
            metadata.abandon()
        if isinstance(error, LogDirError):
            raise storage_error(error) from error
        if isinstance(error, IdentityError):
            raise StartError(f"{error}: correct log.dirs or metadata.log.dir") from error
        raise
    return Storage(identity=identity, metadata=metadata, apart=apart)


def _refuse_used(logs: LogManager) -> None:
    """A directory that another process has is no broken one: two brokers must not share it."""
    for error in logs.offline_paths.values():
        if isinstance(error.__cause__, BlockingIOError):
            raise error


async def _open_apart(world: World, config: BrokerConfig) -> LogDirectory:
    path = config.metadata_directory
    try:
        root = world.directory(path, create=True, threads=config.background_threads)
        found = LogDirectory(world, root, lambda: None)
    except OSError as error:
        raise LogDirError(path, str(error)) from error
    try:
        await found.open()
    except BaseException:
        found.abandon()
        raise
    return found


def _find(config: BrokerConfig, logs: LogManager) -> LogDirectory:
    found = _directory_at(logs.directories, config.metadata_directory)
    if found is None:
        raise logs.offline_paths[config.metadata_directory]
    return found


def _directory_at(directories: Iterable[LogDirectory], path: str) -> LogDirectory | None:
    return next((one for one in directories if one.path == path), None)


def _identity(config: BrokerConfig, metadata: LogDirectory) -> MetaProperties:
    properties = metadata.properties
    if properties is None:
        raise StartError(
            f"{metadata.path} is not formatted: run `trio-kafka format`, or start with"
            " --format-if-empty"
        )
    if properties.node_id != config.node_id:
        raise StartError(
            f"{metadata.path} is of node {properties.node_id}, node.id is {config.node_id}:"
            " correct one of them"
        )
    if properties.directory_id is None:
        raise StartError(
            f"{metadata.path}: {META_PROPERTIES} has no directory.id: run `trio-kafka format"
            " --ignore-formatted`"
        )
    return properties
