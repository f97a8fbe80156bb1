"""DeleteRecords (key 21): hide the records below an offset, for each partition.

-1 stands for the high watermark. The answer has the new first offset. Hidden records leave the disk
when whole segments can be removed. Waits, up to the timeout of the request, for followers in sync
and for a replica that moves to another directory; a deletion that has timed out stays in force.
Of a partition that is named twice the last offset counts, as in Kafka. Internal topics and topics
that are only compacted delete no records. Source: KIP-107.

Needs DELETE on each topic.
"""

from functools import partial

from trio_kafka.errors import KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteRecordsTopicResult,
)
from trio_kafka.replication.leader.delete_records import (
    NO_WATERMARK,
    TimedOutDeletionError,
    delete_everywhere,
)
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import Pairs, for_each, rows
from trio_kafka.security.operations import Operation

Named = tuple[str, dict[int, int]]  # a topic, with the offset for each partition
Numbered = tuple[int, int]


@api(DeleteRecordsRequest)
def delete_records(
    request: DeleteRecordsRequest, context: Context
) -> Eventual[DeleteRecordsResponse]:
    offsets: dict[str, dict[int, int]] = {topic.name: {} for topic in request.topics}

    def want(pair: tuple[DeleteRecordsTopic, DeleteRecordsPartition]) -> None:
        topic, partition = pair
        offsets[topic.name][partition.partition_index] = partition.offset

    named = Pairs(request.topics, lambda topic: topic.partitions)
    return for_each(named, want, partial(_delete, offsets, request.timeout_ms / 1000, context))


def _delete(
    offsets: dict[str, dict[int, int]], timeout_s: float, context: Context
) -> Eventual[DeleteRecordsResponse]:
    replicas = context[Replicas]

    def delete(topic: Named, row: Numbered) -> Eventual[DeleteRecordsPartitionResult]:
        number, offset = row
        deletion = delete_everywhere(replicas.partition(topic[0], number), offset, timeout_s)
        return then(deletion, partial(DeleteRecordsPartitionResult, number))

    return rows(
        list(offsets.items()),
        lambda topic: list(topic[1].items()),
        delete,
        lambda topics: DeleteRecordsResponse(topics=topics),
        group=lambda topic, results: DeleteRecordsTopicResult(topic[0], results),
        refused=_refused,
        permission=lambda topic: context.authorize(Operation.DELETE, topic=topic[0]),
    )


def _refused(topic: Named, row: Numbered, error: KafkaError) -> DeleteRecordsPartitionResult:
    del topic
    low_watermark = NO_WATERMARK
    if isinstance(error, TimedOutDeletionError):
        low_watermark = error.low_watermark
    return DeleteRecordsPartitionResult(row[0], low_watermark, error.code)
