"""WriteTxnMarkers (key 27): end transactions of producers in the partitions that are led here.

Sent by transaction coordinators, and by administrators who abort a hanging transaction. Waits,
parked, until all in-sync replicas have the markers. A marker of an older producer epoch or an older
coordinator is rejected, and one that repeats the last one is accepted. The groups of a partition of
`__consumer_offsets` commit or drop their pending offsets. Source: KIP-98, KIP-664, KIP-890.

Needs ALTER or CLUSTER_ACTION on the cluster.
"""

from functools import partial
from typing import Final, TypeAlias

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from trio_kafka.replication.leader.markers import LocalMarkers, TransactionMarker
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import Pairs, for_each, rows
from trio_kafka.security.operations import Operation

Topic: TypeAlias = tuple[TransactionMarker, WritableTxnMarkerTopic]
EPOCHS_CHECKED_SINCE: Final = 2  # before: transaction version 0


@api(WriteTxnMarkersRequest)
def write_txn_markers(
    request: WriteTxnMarkersRequest, context: Context
) -> Eventual[WriteTxnMarkersResponse]:
    if not context.is_authorized(Operation.ALTER, cluster=True):
        context.authorize(Operation.CLUSTER_ACTION, cluster=True)
    topics: list[Topic] = []
    return for_each(
        Pairs(request.markers, lambda marker: marker.topics),
        lambda pair: topics.append((_marker(pair[0], context.version), pair[1])),
        lambda: _write_all(request, topics, context[LocalMarkers]),
    )


def _marker(marker: WritableTxnMarker, version: int) -> TransactionMarker:
    return TransactionMarker(
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
        is_commit=marker.transaction_result,
        transaction_version=marker.transaction_version if version >= EPOCHS_CHECKED_SINCE else 0,
        partitions=(),
    )


def _write_all(
    request: WriteTxnMarkersRequest, topics: list[Topic], markers: LocalMarkers
) -> Eventual[WriteTxnMarkersResponse]:
    def write(topic: Topic, number: int) -> Eventual[WritableTxnMarkerPartitionResult]:
        code = markers.write_to(TopicPartition(topic[1].name, number), topic[0])
        return then(code, partial(_result, number))

    return rows(
        topics,
        lambda topic: topic[1].partition_indexes,
        write,
        partial(_response, request),
        group=lambda topic, results: WritableTxnMarkerTopicResult(topic[1].name, results),
        refused=lambda _topic, number, error: _refused(number, error),
    )


def _result(number: int, code: ErrorCode) -> WritableTxnMarkerPartitionResult:
    return WritableTxnMarkerPartitionResult(number, code)


def _refused(number: int, error: KafkaError) -> WritableTxnMarkerPartitionResult:
    return WritableTxnMarkerPartitionResult(number, error.code)


def _response(
    request: WriteTxnMarkersRequest, topics: list[WritableTxnMarkerTopicResult]
) -> WriteTxnMarkersResponse:
    """Return the response. topics: of all markers, in the order of the request."""
    results, begin = [], 0
    for marker in request.markers:
        end = begin + len(marker.topics)
        results.append(WritableTxnMarkerResult(marker.producer_id, topics[begin:end]))
        begin = end
    return WriteTxnMarkersResponse(results)
