"""What an active controller writes before it decides anything.

An empty log begins with the records that formatting left, in a metadata transaction (KIP-868):
whoever reads sees all of them or none. Then every controller registers its new life (KIP-919).
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
    me: ControllerRegistration,
    settings: ControllerSettings,
) -> Iterator[list[MetadataRecord]]:
    """Batches to append, each on its own."""
    level = image.features.get(METADATA_VERSION, 0)
    if not level:
        records = _bootstrap(list(bootstrap) or list(bootstrap_features()), settings)
        level = level_in(records)
        yield records
    if has_controllers(level):
        yield [controller_record(me)]


def level_in(records: Sequence[MetadataRecord]) -> int:
    """The metadata.version that records set, 0 if they do not."""
    found = (
        record.feature_level
        for record in records
        if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION
    )
    return next(found, 0)


def _bootstrap(records: list[MetadataRecord], settings: ControllerSettings) -> list[MetadataRecord]:
    levels = {r.name: r.feature_level for r in records if isinstance(r, FeatureLevelRecord)}
    if levels.get(ELR_VERSION, 0):
        # Who is eligible to lead depends on it: from here on it changes by records only.
        records += elr_safety_records(MetadataImage(), settings.min_insync_replicas)
    if not has_transactions(level_in(records)):
        return records
    return [BeginTransactionRecord(name=_TRANSACTION), *records, EndTransactionRecord()]
