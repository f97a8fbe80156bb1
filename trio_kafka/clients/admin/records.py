"""Calls about the records of partitions: delete those before an offset, look offsets up."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.clients.admin.calls.call import Call, Plan, Rejection, perform, result_of
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.partitions import by_topic, leaders, partition_place
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)

HIGH_WATERMARK: Final = -1
"""Offset for `delete_records` that deletes every record below the high watermark."""


@frozen
class OffsetSpec:
    """Offset to look for. timestamp: of ListOffsets: ms since 1970, or a number below 0.

    Source: OffsetSpec of Apache Kafka 4.4.0; KIP-405, KIP-734, KIP-1005, KIP-1023.
    """

    timestamp: int


LATEST: Final = OffsetSpec(-1)
EARLIEST: Final = OffsetSpec(-2)
MAX_TIMESTAMP: Final = OffsetSpec(-3)  # of the record with the latest time
EARLIEST_LOCAL: Final = OffsetSpec(-4)
LATEST_TIERED: Final = OffsetSpec(-5)
EARLIEST_PENDING_UPLOAD: Final = OffsetSpec(-6)


def for_timestamp(timestamp_ms: int) -> OffsetSpec:
    """Return the spec of the first record at or after a time. timestamp_ms: since 1970."""
    if timestamp_ms < 0:
        raise ValueError(f"timestamp {timestamp_ms}: want 0 or more")
    return OffsetSpec(timestamp_ms)


@frozen(kw_only=True)
class ListOffsetsResultInfo:
    """An offset with time and leader epoch of its record; -1: there is none, or not known."""

    offset: int
    timestamp: int = -1
    leader_epoch: int = -1


def delete_records(
    offsets: Mapping[TopicPartition, int],
) -> Plan[Results[TopicPartition, int]]:
    """Delete the records before an offset, or with HIGH_WATERMARK all of them, by partition.

    Returns the new first offset of each partition.
    """

    def request(items: Sequence[TopicPartition], timeout_ms: int) -> DeleteRecordsRequest:
        topics = by_topic(items, lambda at: DeleteRecordsPartition(at.partition, offsets[at]))
        rows = [DeleteRecordsTopic(name, partitions) for name, partitions in topics.items()]
        return DeleteRecordsRequest(rows, timeout_ms)

    return perform(
        Call(targets=leaders(offsets), request=request, read=_read_deleted, place=partition_place)
    )


def list_offsets(
    specs: Mapping[TopicPartition, OffsetSpec], *, read_committed: bool = False
) -> Plan[Results[TopicPartition, ListOffsetsResultInfo]]:
    """Look offsets up by time or by their place in the log, by partition.

    read_committed: LATEST is the end of what a read_committed consumer sees.
    """

    def request(items: Sequence[TopicPartition], timeout_ms: int) -> ListOffsetsRequest:
        topics = by_topic(
            items, lambda at: ListOffsetsPartition(at.partition, -1, specs[at].timestamp)
        )
        return ListOffsetsRequest(
            replica_id=-1,
            isolation_level=int(read_committed),
            topics=[ListOffsetsTopic(name, rows) for name, rows in topics.items()],
            timeout_ms=timeout_ms,
        )

    return perform(
        Call(
            targets=leaders(specs),
            request=request,
            read=_read_offsets,
            place=partition_place,
        )
    )


def _read_deleted(
    response: DeleteRecordsResponse, _items: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, int | Rejection]]:
    for topic in response.topics:
        for row in topic.partitions:
            at = TopicPartition(topic.name, row.partition_index)
            yield at, result_of(row.error_code, None, row.low_watermark)


def _read_offsets(
    response: ListOffsetsResponse, _items: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, ListOffsetsResultInfo | Rejection]]:
    for topic in response.topics:
        for row in topic.partitions:
            info = ListOffsetsResultInfo(
                offset=row.offset, timestamp=row.timestamp, leader_epoch=row.leader_epoch
            )
            at = TopicPartition(topic.name, row.partition_index)
            yield at, result_of(row.error_code, None, info)
