"""Codec of `__consumer_offsets`: groups and their committed offsets."""

from collections.abc import Iterable
from types import ModuleType
from typing import Final

from trio_kafka.coordinators.shards.record_codec import RecordCodec
from trio_kafka.protocol.stored.groups import classic, consumer

__all__ = ["GROUP_RECORDS"]


def _unserved() -> Iterable[ModuleType]:
    """Return the modules of share and streams groups, imported on first use: this broker writes
    none of their records.
    """
    from trio_kafka.protocol.stored.groups import share, streams  # noqa: PLC0415 - as said above

    return share, streams


# Written versions are Kafka's: the newest that old brokers can read. Version 3 of
# GroupMetadataValue is the last that is not flexible.
GROUP_RECORDS: Final = RecordCodec(
    classic, consumer, unserved=_unserved, written={classic.GroupMetadataValue: 3}
)
