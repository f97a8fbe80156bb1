"""Formatting of data directories: their identity and the initial metadata log of a cluster.

A directory without `meta.properties` is formatted only if it is empty: first the identity, then the
metadata log. An interrupted formatting is completed by the next one.
Source: KIP-631, KIP-858; `kafka-storage format --standalone`.
"""

from collections.abc import Sequence
from typing import Final

from attrs import evolve

from trio_kafka.broker.errors import StartError
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.errors import LogDirError
from trio_kafka.log.files.partition_metadata import parse_id
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.identity import new_directory_id
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.manager.meta_properties import NAME as META_PROPERTIES
from trio_kafka.log.manager.meta_properties import MetaProperties, write_meta_properties
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.metadata.security import UserScramCredentialRecord
from trio_kafka.raft.format import METADATA_PARTITION, format_metadata
from trio_kafka.raft.snapshot import BOOTSTRAP
from trio_kafka.raft.voters import VoterEndpoint
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import World

# Names that an empty directory may contain: the lock, those of the file system, and the remains of
# an interrupted formatting.
_IGNORED_NAMES: Final = frozenset({".lock", "lost+found", f"{META_PROPERTIES}.tmp"})
# The host of a voter that is bound to every address, as Kafka writes it.
_HERE: Final = "localhost"


async def format_storage(
    world: World,
    config: BrokerConfig,
    metadata: LogDirectory,
    *,
    logs: LogManager,
    cluster_id: str | None,
    users: Sequence[UserScramCredentialRecord] = (),
) -> None:
    """Format `metadata`, the directory of the metadata log, and the other unformatted directories.

    cluster_id: None: a new one. users: those of a new cluster. Raises StartError, LogDirError.
    """
    others = [directory for directory in logs.directories if directory is not metadata]
    _check(metadata, others)
    properties = metadata.properties
    cluster_id = properties.cluster_id if properties else cluster_id or new_directory_id(world)
    for directory in (metadata, *others):
        if directory.properties is None or directory.properties.directory_id is None:
            await _identify(world, config, directory, cluster_id=cluster_id)
    try:
        await _format_log(world, config, metadata, users)
    except OSError as error:
        raise LogDirError(metadata.path, str(error)) from error


async def _identify(
    world: World, config: BrokerConfig, directory: LogDirectory, *, cluster_id: str
) -> None:
    current = directory.properties or MetaProperties(
        node_id=NodeId(config.node_id), cluster_id=cluster_id
    )
    properties = evolve(current, directory_id=new_directory_id(world))
    try:
        await write_meta_properties(directory.root, properties)
    except OSError as error:
        raise LogDirError(directory.path, str(error)) from error
    directory.properties = properties


def _check(metadata: LogDirectory, others: Sequence[LogDirectory]) -> None:
    """Raise StartError if a directory is not empty, or if the cluster's metadata are elsewhere."""
    formatted = [directory.path for directory in others if directory.properties]
    if metadata.properties is None and formatted:
        raise StartError(
            f"{metadata.path} is not formatted, but {', '.join(formatted)} is: name the directory"
            " that has the metadata log in metadata.log.dir"
        )
    for directory in (metadata, *others):
        if directory.properties is None:
            _check_empty(directory)


def _check_empty(directory: LogDirectory) -> None:
    names = [name for name in directory.root.names() if name not in _IGNORED_NAMES]
    if names:
        raise StartError(
            f"{directory.path} has no {META_PROPERTIES} and is not empty ({names[0]}): it is not"
            f" formatted. Restore {META_PROPERTIES} from a backup, or name an empty directory"
        )


async def _format_log(
    world: World,
    config: BrokerConfig,
    metadata: LogDirectory,
    users: Sequence[UserScramCredentialRecord],
) -> None:
    """Format the metadata log unless it exists. OSError."""
    root, name, properties = metadata.root, str(METADATA_PARTITION), metadata.properties
    if root.exists(name) and _has_log(root.directory(name)):
        return
    if durable := metadata.recovery_of(METADATA_PARTITION).recovery_point:
        raise StartError(
            f"{metadata.path}/{name} has no log, want offsets up to {durable - 1}: all metadata are"
            " missing. Restore the directory from a backup. Or begin a new cluster in an empty"
            " directory"
        )
    await format_metadata(
        root,
        node_id=NodeId(config.node_id),
        directory_id=parse_id((properties and properties.directory_id) or ""),
        endpoints=[
            VoterEndpoint(listener.name, listener.endpoint.host or _HERE, listener.endpoint.port)
            for listener in config.endpoints.advertised_controller
        ],
        now_ms=int(world.clock.wall() * 1000),
        records=users,
    )


def _has_log(directory: Directory) -> bool:
    names = directory.names()
    return BOOTSTRAP.name in names or any(name.endswith((".log", ".checkpoint")) for name in names)
