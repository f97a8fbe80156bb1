"""Image: the cluster at one offset of the metadata log, as immutable values.

A new image shares with the previous one everything that its delta did not touch. Ids of topics and
directories are 16 bytes. Leaders, ISR and epochs have the meaning of KIP-500, KIP-841 (fencing),
KIP-858 (directories) and KIP-966 (ELR).
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from attrs import Factory

from trio_kafka.attributes import frozen
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.model import NO_NODE, NodeId, TopicId, TopicPartition
from trio_kafka.protocol.stored.metadata.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)

# Reserved directory ids (KIP-858): ids below 100 are never given to a directory.
MIGRATING_DIRECTORY: Final = bytes(16)
UNASSIGNED_DIRECTORY: Final = bytes(15) + b"\x01"
LOST_DIRECTORY: Final = bytes(15) + b"\x02"


class RecoveryState(IntEnum):
    """State of a leader after an unclean election (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


class ConfigResourceType(IntEnum):
    """Type of a resource that has settings (int8 in records and messages)."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


ConfigResource = tuple[int, str]
"""ConfigResourceType and name. The name "" of BROKER stands for all brokers."""
ALL_BROKERS: Final[ConfigResource] = (ConfigResourceType.BROKER, "")
NO_CONFIGS: Final[Mapping[str, str]] = {}
"""Settings of a resource that has none: one object, so that they can be compared by identity."""
QuotaEntity = tuple[tuple[str, str | None], ...]
"""Sorted pairs of type and name. The name None stands for the default."""


@frozen(kw_only=True)
class PartitionState:
    """State of one partition. `directories` has one entry for each of `replicas`."""

    replicas: tuple[NodeId, ...]
    isr: tuple[NodeId, ...]
    removing: tuple[NodeId, ...] = ()
    adding: tuple[NodeId, ...] = ()
    leader: NodeId = NO_NODE
    leader_epoch: int = 0
    partition_epoch: int = 0
    directories: tuple[bytes, ...] = ()
    elr: tuple[NodeId, ...] = ()
    last_known_elr: tuple[NodeId, ...] = ()
    recovery_state: RecoveryState = RecoveryState.RECOVERED

    def directory(self, node: NodeId) -> bytes:
        """Return the directory id of a replica; UNASSIGNED_DIRECTORY if the record had none."""
        if not self.directories:
            return UNASSIGNED_DIRECTORY
        return self.directories[self.replicas.index(node)]


@frozen(kw_only=True)
class TopicImage:
    """One topic. Partitions are numbered from 0 without a gap."""

    name: str
    id: TopicId
    partitions: Mapping[int, PartitionState]


@frozen
class ListenerEndpoint:
    """Listener of a node. Protocols: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


@frozen
class VersionRange:
    """Levels of a feature that a node supports, both ends inclusive."""

    low: int
    high: int

    def __contains__(self, level: int) -> bool:
        return self.low <= level <= self.high


@frozen(kw_only=True)
class BrokerRegistration:
    """Registration of a broker; `epoch` is the offset of its record."""

    id: NodeId
    epoch: int
    incarnation_id: bytes
    endpoints: tuple[ListenerEndpoint, ...] = ()
    features: Mapping[str, VersionRange] = Factory(dict)
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: tuple[bytes, ...] = ()
    cordoned_log_dirs: tuple[bytes, ...] | None = None

    @property
    def open_log_dirs(self) -> tuple[bytes, ...]:
        """Directories that may get new replicas (KIP-1066)."""
        cordoned = self.cordoned_log_dirs
        if not cordoned:
            return self.log_dirs
        return tuple(directory for directory in self.log_dirs if directory not in cordoned)

    @property
    def active(self) -> bool:
        """True if the broker may lead and join an ISR."""
        return not self.fenced and not self.in_controlled_shutdown


@frozen(kw_only=True)
class ControllerRegistration:
    """Registration of a controller."""

    id: NodeId
    incarnation_id: bytes
    endpoints: tuple[ListenerEndpoint, ...] = ()
    features: Mapping[str, VersionRange] = Factory(dict)


@frozen(kw_only=True)
class MetadataImage:
    """State of the cluster at `offset`, which is the offset of the next record.

    epoch: that of the last record. cluster_id: from the log's directory; it is in no record.
    leader_id: the leader of the metadata log, from its last LeaderChange record.
    """

    cluster_id: str = ""
    offset: int = 0
    epoch: int = 0
    timestamp_ms: int = -1
    leader_id: NodeId = NO_NODE
    topics: ImmutableMap[str, TopicImage] = Factory(ImmutableMap)
    topic_names: ImmutableMap[TopicId, str] = Factory(ImmutableMap)
    brokers: Mapping[NodeId, BrokerRegistration] = Factory(dict)
    controllers: Mapping[NodeId, ControllerRegistration] = Factory(dict)
    configs: ImmutableMap[ConfigResource, Mapping[str, str]] = Factory(ImmutableMap)
    features: Mapping[str, int] = Factory(dict)
    next_producer_id: int = 0
    quotas: ImmutableMap[QuotaEntity, Mapping[str, float]] = Factory(ImmutableMap)
    scram: ImmutableMap[tuple[str, int], UserScramCredentialRecord] = Factory(ImmutableMap)
    acls: ImmutableMap[bytes, AccessControlEntryRecord] = Factory(ImmutableMap)
    tokens: ImmutableMap[str, DelegationTokenRecord] = Factory(ImmutableMap)

    def topic(self, name_or_id: str | TopicId) -> TopicImage | None:
        """Return a topic by its name or its id."""
        if isinstance(name_or_id, str):
            return self.topics.get(name_or_id)
        name = self.topic_names.get(name_or_id)
        return None if name is None else self.topics[name]

    def partition(self, at: TopicPartition) -> PartitionState | None:
        """Return the state of a partition; None if it does not exist."""
        topic = self.topics.get(at.topic)
        return None if topic is None else topic.partitions.get(at.partition)

    def config(self, kind: ConfigResourceType, name: str) -> Mapping[str, str]:
        """Return the dynamic settings of a resource, without inherited ones."""
        return self.configs.get((kind, name), NO_CONFIGS)
