"""DeleteRecords: hide records below an offset. Retention removes whole segments later.

Source: KIP-107.
"""

from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.replication.partition import Partition

HIGH_WATERMARK: Final = -1


def delete_records(partition: Partition, offset: int) -> int:
    """Move the log's start to `offset`, or to the high watermark. Return the start offset.

    An offset below the start changes nothing.
    Raises KafkaError: as `Partition.local_log`, POLICY_VIOLATION if `cleanup.policy` has no delete,
    OFFSET_OUT_OF_RANGE.
    """
    log = partition.local_log()
    if not log.config.deletes:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"cleanup.policy of {partition.at} has no delete, want one that has",
        )
    until = log.high_watermark if offset == HIGH_WATERMARK else offset
    if until < 0:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset}, want 0 or more, or -1")
    log.set_start_offset(until)
    partition.changed(partition)
    return log.start_offset
