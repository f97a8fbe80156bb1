"""Whose data directories these are: found out at start, or given to empty ones by formatting.

A directory without `meta.properties` is formatted only when it is empty and somebody asked for it:
the identity first, then the metadata log that begins the cluster. A formatting that was cut off is
finished by the next one. Source: KIP-631, KIP-858; `kafka-storage format --standalone`.
"""

from collections.abc import Iterable
from typing import Final

from attrs import evolve, frozen

from trio_kafka.broker.errors import StartError
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.errors import LogDirError
from trio_kafka.log.directory import LogDirectory
from trio_kafka.log.manager import IdentityError, LogManager, new_directory_id
from trio_kafka.log.meta_properties import NAME as META_PROPERTIES
from trio_kafka.log.meta_properties import MetaProperties, write_meta_properties
from trio_kafka.log.partition_metadata import format_id, parse_id
from trio_kafka.model import NodeId
from trio_kafka.raft.format import METADATA_PARTITION, format_metadata
from trio_kafka.raft.snapshot import BOOTSTRAP
from trio_kafka.raft.voters import VoterEndpoint
from trio_kafka.world.protocols import Directory, World

# What may stand in a directory that counts as empty: the lock, what a file system puts there, and
# what a formatting leaves that was cut off.
_NOTHING: Final = frozenset({".lock", "lost+found", f"{META_PROPERTIES}.tmp"})


@frozen(kw_only=True)
class Storage:
    """identity: of the metadata directory; own: its LogDirectory where it is none of log.dirs."""

    identity: MetaProperties
    root: Directory
    own: LogDirectory | None = None

    @property
    def directory_id(self) -> bytes:
        """Of the directory that has the metadata log."""
        return parse_id(self.identity.directory_id or "")

    async def close(self, broker_epoch: int) -> None:
        """Give up the directory that only the metadata log is in; the others are LogManager's."""
        if self.own is not None:
            await self.own.close(broker_epoch)


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
    format. Raises StartError, which says what to do.
    """
    try:
        await logs.open()
        own = await _open_own(world, config)
        found = own or _directory_at(logs.directories, config.metadata_directory)
        if found is None:
            reason = logs.offline_paths.get(config.metadata_directory, "it is offline")
            raise StartError(f"the metadata log's directory cannot be used: {reason}")
        if refuse_formatted and found.properties is not None:
            raise StartError(
                f"{found.path} is formatted already: of cluster {found.properties.cluster_id}"
            )
        if format_if_empty:
            await _format(world, config, found, logs, cluster_id)
        identity = _identity(config, found)
        await logs.identify(identity)
    except (LogDirError, IdentityError) as error:
        raise StartError(str(error)) from error
    return Storage(identity=identity, root=found.root, own=own)


async def _open_own(world: World, config: BrokerConfig) -> LogDirectory | None:
    path = config.metadata_directory
    if path in config.directories:
        return None
    try:
        own = LogDirectory(world, world.directory(path, create=True), lambda: None)
    except OSError as error:
        raise LogDirError(path, str(error)) from error
    await own.open()
    return own


def _directory_at(directories: Iterable[LogDirectory], path: str) -> LogDirectory | None:
    return next((one for one in directories if one.path == path), None)


def _identity(config: BrokerConfig, found: LogDirectory) -> MetaProperties:
    properties = found.properties
    if properties is None:
        raise StartError(
            f"{found.path} is not formatted: run `trio-kafka format`, or start with"
            " --format-if-empty"
        )
    if properties.node_id != config.node_id:
        raise StartError(
            f"{found.path} is of node {properties.node_id}, node.id is {config.node_id}"
        )
    if properties.directory_id is None:
        raise StartError(f"{found.path}: {META_PROPERTIES} has no directory.id")
    return properties


async def _format(
    world: World,
    config: BrokerConfig,
    first: LogDirectory,
    logs: LogManager,
    cluster_id: str | None,
) -> None:
    """Format the metadata directory; `LogManager.identify` gives the others their identity."""
    others = [one for one in logs.directories if one is not first]
    if first.properties is None:
        formatted = [one.path for one in others if one.properties]
        if formatted:
            raise StartError(f"{first.path} is not formatted, but {', '.join(formatted)} is")
        for one in (first, *others):
            _check_empty(one)
        properties = MetaProperties(
            node_id=NodeId(config.node_id),
            cluster_id=cluster_id or format_id(_random_id(world)),
            directory_id=new_directory_id(world),
        )
        try:
            await write_meta_properties(first.root, properties)
        except OSError as error:
            raise LogDirError(first.path, str(error)) from error
        first.properties = properties
    for one in others:
        if one.properties is None:
            _check_empty(one)
    if first.properties.directory_id is None:
        first.properties = evolve(first.properties, directory_id=new_directory_id(world))
        await write_meta_properties(first.root, first.properties)
    await _format_metadata(world, config, first)


async def _format_metadata(world: World, config: BrokerConfig, first: LogDirectory) -> None:
    """Unless there is a metadata log already."""
    properties, root, name = first.properties, first.root, str(METADATA_PARTITION)
    if properties is None or (root.exists(name) and _has_log(root.directory(name))):
        return
    endpoints = [
        VoterEndpoint(one.name, one.endpoint.host, one.endpoint.port)
        for one in config.endpoints.controller
    ]
    try:
        await format_metadata(
            root,
            node_id=NodeId(config.node_id),
            directory_id=parse_id(properties.directory_id or ""),
            endpoints=endpoints,
            now_ms=int(world.clock.wall() * 1000),
        )
    except OSError as error:
        raise LogDirError(first.path, str(error)) from error


def _has_log(directory: Directory) -> bool:
    names = directory.names()
    return BOOTSTRAP.name in names or any(name.endswith((".log", ".checkpoint")) for name in names)


def _check_empty(directory: LogDirectory) -> None:
    found = [name for name in directory.root.names() if name not in _NOTHING]
    if found:
        raise StartError(
            f"{directory.path} has no {META_PROPERTIES} and is not empty ({found[0]}): it is not"
            " formatted"
        )


def _random_id(world: World) -> bytes:
    while True:
        found = world.random_bytes(16)
        if not format_id(found).startswith("-"):
            return found
