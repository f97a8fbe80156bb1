"""Data loss: an error with the connector's condition, or a warning with failOnDataLoss=false."""

import logging
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import DATA_LOSS, SourceError

log: Final = logging.getLogger(__name__)

INITIAL_NOT_FOUND: Final = "INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS"
ADDED_LATE: Final = "ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO"
DELETED: Final = "PARTITIONS_DELETED"
DELETED_WITH_GROUP: Final = "PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT"
CHANGED: Final = "PARTITION_OFFSET_CHANGED"
NOT_READ: Final = "COULD_NOT_READ_OFFSET_RANGE"
REMEDY: Final = (
    "the records were deleted by retention, or the topic was deleted or created again; to go on "
    "without them, set option failOnDataLoss=false"
)


@frozen
class LossPolicy:
    """Policy of a read for records that it should have read and that are gone."""

    fails: bool

    def report(self, kind: str, loss: str) -> None:
        """Raise SourceError KAFKA_DATA_LOSS.`kind`, or log a warning and return."""
        if self.fails:
            raise SourceError(f"{DATA_LOSS}.{kind}", f"{loss}; {REMEDY}")
        log.warning("records lost: %s: %s", kind, loss)

    def not_read(self, tp: TopicPartition, *, start: int, stop: int, held: str) -> None:
        """Report offsets of a task's range that the partition does not hold."""
        self.report(
            NOT_READ, f"offsets [{start}, {stop}) of {tp} cannot be read: the partition has {held}"
        )
