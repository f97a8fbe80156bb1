"""Ownership check of the data directories at the start.

All directories are locked and must belong to this node and to one cluster. A directory that cannot
be read is taken offline and the others serve, except for the directory of the metadata log. Source:
KIP-631, KIP-858.
"""

from collections.abc import Sequence

from trio_kafka.attributes import frozen
from trio_kafka.broker.errors import StartError, storage_error
from trio_kafka.broker.formatting import format_storage
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.errors import LogDirError
from trio_kafka.log.files.partition_metadata import parse_id
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.identity import IdentityError
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.manager.meta_properties import NAME as META_PROPERTIES
from trio_kafka.log.manager.meta_properties import MetaProperties
from trio_kafka.protocol.stored.metadata.security import UserScramCredentialRecord
from trio_kafka.world.world import World


@frozen(kw_only=True)
class Storage:
    """Opened data directories.

    logs: of log.dirs. identity: of `metadata`, the directory with the metadata log. apart: that
    directory is not in log.dirs, so the LogManager does not know it.
    """

    logs: LogManager
    identity: MetaProperties
    metadata: LogDirectory
    apart: bool

    @property
    def directory_id(self) -> bytes:
        """Id of the directory that has the metadata log."""
        return parse_id(self.identity.directory_id or "")

    def resize(self, threads: int) -> None:
        """Set the number of threads of a separate metadata directory; see `LogManager.resize`."""
        if self.apart:
            self.metadata.root.resize(threads)

    async def close(self, broker_epoch: int) -> None:
        """Close a separate metadata directory; the LogManager closes the others."""
        if self.apart:
            await self.metadata.close(broker_epoch)

    def abandon(self) -> None:
        """Release the lock of a separate metadata directory without closing it. Idempotent."""
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
    users: Sequence[UserScramCredentialRecord] = (),
) -> Storage:
    """Lock all directories, check that they belong together, and format them if allowed.

    cluster_id: for formatting; None: a new one. refuse_formatted: raise StartError if nothing is
    left to format. users: those of a new cluster.
    Raises StartError, which says what to do; then only `logs` still holds locks.
    """
    apart = config.metadata_directory not in config.directories
    metadata: LogDirectory | None = None
    if not format_if_empty:
        _check_formatted(world, config.metadata_directory)
    try:
        await logs.open()
        _reject_used(logs)
        metadata = await _open_apart(world, config) if apart else _find(config, logs)
        if refuse_formatted and metadata.properties is not None:
            cluster = metadata.properties.cluster_id
            raise StartError(
                f"{metadata.path} is already formatted for cluster {cluster}:"
                " name an empty directory, or keep it with --ignore-formatted"
            )
        if format_if_empty:
            await format_storage(
                world, config, metadata, logs=logs, cluster_id=cluster_id, users=users
            )
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
    return Storage(logs=logs, identity=identity, metadata=metadata, apart=apart)


def _check_formatted(world: World, path: str) -> None:
    """Raise StartError if a directory is missing or not formatted, and leave nothing in it.

    A directory that cannot be read is for `LogManager.open` to judge.
    """
    try:
        is_formatted = world.directory(path).exists(META_PROPERTIES)
    except FileNotFoundError:
        is_formatted = False
    except OSError:
        return
    if not is_formatted:
        raise _not_formatted(path)


def _not_formatted(path: str) -> StartError:
    return StartError(
        f"{path} is not formatted: run `trio-kafka format`, or start with --format-if-empty"
    )


def _reject_used(logs: LogManager) -> None:
    """Raise if another process uses a directory: unlike a damaged one, it must not be skipped."""
    for error in logs.offline_paths.values():
        if isinstance(error.__cause__, BlockingIOError):
            raise error


async def _open_apart(world: World, config: BrokerConfig) -> LogDirectory:
    path = config.metadata_directory
    try:
        root = world.directory(path, create=True, threads=config.background_threads)
        directory = LogDirectory(world, root, lambda: None)
    except OSError as error:
        raise LogDirError(path, str(error)) from error
    try:
        await directory.open()
    except BaseException:
        directory.abandon()
        raise
    return directory


def _find(config: BrokerConfig, logs: LogManager) -> LogDirectory:
    path = config.metadata_directory
    for directory in logs.directories:
        if directory.path == path:
            return directory
    raise logs.offline_paths[path]


def _identity(config: BrokerConfig, metadata: LogDirectory) -> MetaProperties:
    properties = metadata.properties
    if properties is None:
        raise _not_formatted(metadata.path)
    if properties.node_id != config.node_id:
        raise StartError(
            f"{metadata.path} belongs to node {properties.node_id}, but node.id is "
            f"{config.node_id}:"
            " correct one of them"
        )
    if properties.directory_id is None:
        raise StartError(
            f"{metadata.path}: {META_PROPERTIES} has no directory.id: run `trio-kafka format"
            " --ignore-formatted`"
        )
    return properties
