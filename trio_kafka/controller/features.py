"""Levels of features, for the whole cluster: changed when every node supports it (KIP-584)."""

from collections.abc import Mapping
from enum import IntEnum

from attrs import frozen

from trio_kafka.controller.decision import Decision
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.features import KRAFT_VERSION, METADATA_VERSION, SUPPORTED, check_level
from trio_kafka.metadata.image import MetadataImage, VersionRange
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord


class Upgrade(IntEnum):
    """What a change may do (int8 on the wire)."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@frozen
class FeatureChange:
    """Let a feature be at a level; 0 takes it out of use."""

    name: str
    level: int
    upgrade: Upgrade = Upgrade.UPGRADE


def update_feature(image: MetadataImage, change: FeatureChange) -> Decision[None]:
    """Change one. Raises KafkaError: INVALID_UPDATE_VERSION."""
    check_level(change.name, change.level)
    if change.name == KRAFT_VERSION:
        raise _refused("kraft.version is changed by the quorum itself, which cannot do so yet")
    old = image.features.get(change.name, 0)
    if change.level < old and change.upgrade is Upgrade.UPGRADE:
        raise _refused(f"{change.name} is {old}: to lower it to {change.level} ask for a downgrade")
    if change.level > old and change.upgrade is not Upgrade.UPGRADE:
        raise _refused(f"{change.name} is {old}: {change.level} is no downgrade")
    if change.name == METADATA_VERSION and change.level < old:
        # Records that are written already may say what the older version cannot.
        raise _refused(f"metadata.version cannot be lowered from {old} to {change.level}")
    if change.level == old:
        return Decision(None)
    for kind, nodes in (("broker", image.brokers), ("controller", image.controllers)):
        for node, registered in nodes.items():
            if change.level and change.level not in _supported(registered.features, change.name):
                raise _refused(f"{kind} {node} does not support {change.name} {change.level}")
    return Decision(None, [FeatureLevelRecord(name=change.name, feature_level=change.level)])


def supported_features() -> Mapping[str, VersionRange]:
    """What this software supports, as it registers itself."""
    return SUPPORTED


def _supported(features: Mapping[str, VersionRange], name: str) -> VersionRange:
    return features.get(name, VersionRange(0, 0))


def _refused(found: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_UPDATE_VERSION, found)
