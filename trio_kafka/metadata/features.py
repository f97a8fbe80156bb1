"""Features of a cluster: their levels, and what each metadata.version allows to be written.

Source: MetadataVersion and Feature of Apache Kafka 4.4.0; KIP-584, KIP-778, KIP-1022.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import VersionRange
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.protocol.stored.metadata.brokers import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
)
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.topics import PartitionChangeRecord, PartitionRecord

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
ELR_VERSION: Final = "eligible.leader.replicas.version"

OLDEST_LEVEL: Final = 7  # 3.3-IV3
LATEST_LEVEL: Final = 33  # 4.4-IV2

SUPPORTED: Final = {
    METADATA_VERSION: VersionRange(OLDEST_LEVEL, LATEST_LEVEL),
    ELR_VERSION: VersionRange(0, 1),
    "group.version": VersionRange(0, 1),
    KRAFT_VERSION: VersionRange(0, 1),
    "share.version": VersionRange(0, 2),
    "streams.version": VersionRange(0, 1),
    "transaction.version": VersionRange(0, 2),
}

# Default levels of features, by the first metadata.version that has them; ascending.
_DEFAULTS: Final = {
    ELR_VERSION: ((26, 1),),
    "group.version": ((22, 1),),
    KRAFT_VERSION: ((21, 1),),
    "share.version": ((28, 1), (31, 2)),
    "streams.version": ((29, 1),),
    "transaction.version": ((24, 2),),
}
# Levels of other features that a level depends on.
_NEEDS: Final = {(ELR_VERSION, 1): {METADATA_VERSION: 23}}
# Levels of metadata.version that added records or fields.
_CHANGED: Final = frozenset({8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
_DIRECTORIES: Final = 17  # 3.7-IV2
_TRANSACTIONS: Final = 13  # 3.6-IV1
_ELR: Final = 23  # 4.0-IV1
_CONTROLLERS: Final = 15  # 3.7-IV0
_CORDONED: Final = 30  # 4.3-IV0


def default_level(feature: str, metadata_version: int) -> int:
    """Return the level of a feature in a newly formatted cluster; 0 means not in use."""
    if feature == METADATA_VERSION:
        return metadata_version
    reached = [level for start, level in _DEFAULTS[feature] if start <= metadata_version]
    return reached[-1] if reached else 0


def bootstrap_features(metadata_version: int = LATEST_LEVEL) -> list[FeatureLevelRecord]:
    """Return the records of a new cluster: metadata.version, then other levels above 0 by name.

    kraft.version is not among them: it is in the control records of the quorum.
    """
    check_level(METADATA_VERSION, metadata_version)
    names = [METADATA_VERSION, *sorted(name for name in _DEFAULTS if name != KRAFT_VERSION)]
    levels = ((name, default_level(name, metadata_version)) for name in names)
    return [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels if level]


def check_level(feature: str, level: int) -> None:
    """Raise KafkaError(INVALID_UPDATE_VERSION) for a level that this release does not know."""
    supported = SUPPORTED.get(feature)
    if supported is None:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"unknown feature {feature}")
    if level not in supported:
        reason = f"{feature} {level}: expected {supported.low} to {supported.high}"
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, reason)


def needed_levels(feature: str, level: int) -> Mapping[str, int]:
    """Return the lowest levels of other features, by name, that a level depends on."""
    return _NEEDS.get((feature, level), {})


def metadata_changed(low: int, high: int) -> bool:
    """Return whether metadata.version `high` can write what `low` cannot."""
    return any(level in _CHANGED for level in range(low + 1, high + 1))


def has_transactions(metadata_version: int) -> bool:
    """Return whether metadata transactions may be written (KIP-868)."""
    return metadata_version >= _TRANSACTIONS


def has_directories(metadata_version: int) -> bool:
    """Return whether partitions have directory ids (KIP-858)."""
    return metadata_version >= _DIRECTORIES


def has_cordoned(metadata_version: int) -> bool:
    """Return whether registrations of brokers have cordoned directories (KIP-1066)."""
    return metadata_version >= _CORDONED


def has_controllers(metadata_version: int) -> bool:
    """Return whether controllers may register (KIP-919)."""
    return metadata_version >= _CONTROLLERS


def record_version(record: MetadataRecord, metadata_version: int) -> int:
    """Return the version in which a record is written.

    A field that this version lacks must have its default; the encoder raises otherwise.
    """
    match record:
        case PartitionRecord() | PartitionChangeRecord():
            return (metadata_version >= _DIRECTORIES) + (metadata_version >= _ELR)
        case RegisterBrokerRecord():
            newer: Sequence[int] = (8, _DIRECTORIES, _CORDONED)
            return 1 + sum(metadata_version >= level for level in newer)
        case BrokerRegistrationChangeRecord():
            # The oldest version that has the fields, independent of the level.
            if record.cordoned_log_dirs is not None:
                return 3
            return 2 if record.log_dirs else int(record.in_controlled_shutdown != 0)
        case _:
            return 0
