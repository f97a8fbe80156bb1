"""Levels of features of the whole cluster: changed together or not at all (KIP-584).

A level is accepted if this release and every registered node support it, and the features that it
depends on are in use. A downgrade must be requested as such.
Source: KIP-584, KIP-778, KIP-853, KIP-1022; responses of Apache Kafka 4.4.0.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.controller.configs import elr_safety_records
from trio_kafka.controller.decision import ControllerSettings, Decision
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.features import (
    ELR_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    SUPPORTED,
    has_controllers,
    metadata_changed,
    needed_levels,
)
from trio_kafka.metadata.image import MetadataImage, VersionRange
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord

_NOT_SUPPORTED: Final = VersionRange(0, 0)


class Upgrade(IntEnum):
    """Direction of a change (int8 on the wire); any other number is UNKNOWN."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3

    @classmethod
    def of(cls, number: int) -> "Upgrade":
        """Return the member of a number on the wire."""
        return cls(number) if number in list(cls) else cls.UNKNOWN


@frozen
class FeatureChange:
    """Change of a feature's level; level 0 disables it."""

    name: str
    level: int
    upgrade: Upgrade = Upgrade.UPGRADE


@frozen(kw_only=True)
class Levels:
    """Current levels. kraft: kraft.version, which is not in the image. me: this controller."""

    image: MetadataImage
    kraft: int
    me: NodeId

    def of(self, feature: str) -> int:
        """Return the current level of a feature; 0 means not in use."""
        return self.kraft if feature == KRAFT_VERSION else self.image.features.get(feature, 0)


def update_features(
    levels: Levels, changes: Sequence[FeatureChange], settings: ControllerSettings
) -> Decision[None]:
    """Change levels. Of two changes of one feature the later one counts.

    Raises KafkaError(INVALID_UPDATE_VERSION) for the first invalid change.
    """
    latest = {change.name: change for change in changes}
    proposed = {name: change.level for name, change in latest.items()}
    records: list[MetadataRecord] = []
    if levels.of(ELR_VERSION) == 0 and proposed.get(ELR_VERSION, 0) > 0:
        # Eligible leaders depend on this setting, so from now on it changes by records only.
        records += elr_safety_records(levels.image, settings.min_insync_replicas)
    for change in latest.values():
        _check(levels, change)
        _check_needs(levels, change, proposed)
        if change.level != levels.of(change.name):
            records.append(FeatureLevelRecord(name=change.name, feature_level=change.level))
    return Decision(None, records)


def _check(levels: Levels, change: FeatureChange) -> None:
    if change.upgrade is Upgrade.UNKNOWN:
        raise _refused(change, "unknown upgrade type: expected 1, 2 or 3")
    if change.level < 0:
        raise _refused(change, "expected 0 or more")
    for node, supported in _nodes(levels, change.name):
        if supported is None:
            raise _refused(change, f"{node} does not know the feature")
        if change.level not in supported:
            raise _refused(change, f"{node} supports {supported.low} to {supported.high}")
    old = levels.of(change.name)
    if change.level < old and change.upgrade is Upgrade.UPGRADE:
        raise _refused(change, f"{old} is in use: request a safe or unsafe downgrade")
    if change.level > old and change.upgrade is not Upgrade.UPGRADE:
        raise _refused(change, f"{old} is in use: request an upgrade")
    if change.name == KRAFT_VERSION and change.level < old:
        raise _refused(change, f"{old} is in use, and this feature cannot be downgraded")
    if change.name == KRAFT_VERSION and change.level > old:
        raise _refused(change, "the voters are static, a setting of each node")
    if change.name == METADATA_VERSION and change.level < old:
        _check_downgrade(change, old)


def _check_downgrade(change: FeatureChange, old: int) -> None:
    """Refuse a downgrade if the log may contain what the older version cannot express."""
    if not metadata_changed(change.level, old):
        return
    if change.upgrade is Upgrade.UNSAFE_DOWNGRADE:
        raise _refused(change, f"{old} is in use: an unsafe downgrade is not supported")
    raise _refused(change, f"{old} is in use: metadata may be lost")


def _check_needs(levels: Levels, change: FeatureChange, proposed: Mapping[str, int]) -> None:
    for name, least in needed_levels(change.name, change.level).items():
        level = proposed.get(name, levels.of(name))
        if level < least:
            raise _refused(change, f"it requires {name} {least}, found {level}")


def _nodes(levels: Levels, feature: str) -> Iterator[tuple[str, VersionRange | None]]:
    """Yield the nodes that must support a feature, and their levels; None if unknown there.

    Other controllers are included from the level on at which they register (KIP-919).
    """
    yield f"controller {levels.me}", SUPPORTED.get(feature)
    for node, broker in levels.image.brokers.items():
        yield f"broker {node}", broker.features.get(feature, _NOT_SUPPORTED)
    if has_controllers(levels.of(METADATA_VERSION)):
        for node, controller in levels.image.controllers.items():
            if node != levels.me:
                yield f"controller {node}", controller.features.get(feature, _NOT_SUPPORTED)


def _refused(change: FeatureChange, reason: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_UPDATE_VERSION, f"{change.name} cannot be {change.level}: {reason}"
    )
