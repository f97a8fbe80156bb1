"""Records that an active controller writes before any decision.

An empty log begins with the records of formatting, in one metadata transaction (KIP-868), so that a
reader sees all of them or none. Then every controller registers its new incarnation (KIP-919).
"""

from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.controller.configs import elr_safety_records
from trio_kafka.controller.decision import ControllerSettings
from trio_kafka.metadata.dump import controller_record
from trio_kafka.metadata.features import (
    ELR_VERSION,
    METADATA_VERSION,
    bootstrap_features,
    has_controllers,
    has_transactions,
)
from trio_kafka.metadata.image import ControllerRegistration, MetadataImage
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.transactions import (
    BeginTransactionRecord,
    EndTransactionRecord,
)

_TRANSACTION: Final = "Bootstrap records"


def first_records(
    image: MetadataImage,
    bootstrap: Sequence[MetadataRecord],
    *,
    me: ControllerRegistration,
    settings: ControllerSettings,
) -> Iterator[list[MetadataRecord]]:
    """Yield the batches to append."""
    level = image.features.get(METADATA_VERSION, 0)
    if not level:
        records = _bootstrap(list(bootstrap) or list(bootstrap_features()), settings)
        level = level_in(records)
        yield records
    if has_controllers(level):
        yield [controller_record(me)]


def level_in(records: Sequence[MetadataRecord]) -> int:
    """Return the metadata.version that records set; 0 if none does."""
    levels = (
        record.feature_level
        for record in records
        if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION
    )
    return next(levels, 0)


def _bootstrap(records: list[MetadataRecord], settings: ControllerSettings) -> list[MetadataRecord]:
    levels = {r.name: r.feature_level for r in records if isinstance(r, FeatureLevelRecord)}
    if levels.get(ELR_VERSION, 0):
        # Eligible leaders depend on this setting, so from now on it changes by records only.
        records += elr_safety_records(MetadataImage(), settings.min_insync_replicas)
    if not has_transactions(level_in(records)):
        return records
    return [BeginTransactionRecord(name=_TRANSACTION), *records, EndTransactionRecord()]
