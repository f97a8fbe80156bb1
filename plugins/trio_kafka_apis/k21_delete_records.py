"""DeleteRecords (key 21): hide the records below an offset, for each partition.

-1 stands for the high watermark. The answer has the new first offset. Hidden records leave the disk
when whole segments can be removed. Waits, up to the timeout of the request, for followers in sync
and for a replica that moves to another directory; a deletion that has timed out stays in force.
Of a partition that is named twice the last offset counts, as in Kafka. Internal topics and topics
that are only compacted delete no records. Source: KIP-107.

Needs DELETE on each topic.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from trio_kafka.plugin import (
    Context,
    Delayed,
    Deletion,
    ErrorCode,
    KafkaError,
    Operation,
    Steps,
    api,
    begin_deletion,
    complete_deletions,
    in_slices,
    rows_of,
)
from trio_kafka.protocol.messages.k21_delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

STEP: Final = 50  # partitions in one step
DENIED: Final = Deletion(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)

Parts = Mapping[str, Mapping[int, Deletion]]


@api(DeleteRecordsRequest)
def delete_records(
    request: DeleteRecordsRequest, context: Context
) -> Steps[DeleteRecordsResponse | Delayed]:
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        for some in in_slices(topic.partitions, STEP):
            offsets = wanted.setdefault(topic.name, {})
            offsets.update((one.partition_index, one.offset) for one in some)
            yield
    parts: dict[str, dict[int, Deletion]] = {}
    for name, offsets in wanted.items():
        may_delete = context.is_authorized(Operation.DELETE, topic=name)
        parts[name] = {}
        for some_offsets in in_slices(list(offsets.items()), STEP):
            for number, offset in some_offsets:
                parts[name][number] = (
                    _delete(name, number, offset, context) if may_delete else DENIED
                )
            yield
    return complete_deletions(
        [part for topic in parts.values() for part in topic.values()],
        partial(_answer, parts),
        request.timeout_ms / 1000,
        context.replicas.deletions,
    )


def _delete(topic: str, number: int, offset: int, context: Context) -> Deletion:
    try:
        partition = context.replicas.partition(topic, number)
    except KafkaError as error:
        return Deletion(error=error.code)
    return begin_deletion(partition, offset)


def _answer(parts: Parts) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(name, rows_of(rows.items(), _row))
            for name, rows in parts.items()
        ]
    )


def _row(numbered: tuple[int, Deletion]) -> DeleteRecordsPartitionResult:
    number, part = numbered
    return DeleteRecordsPartitionResult(number, part.low_watermark, part.error)
