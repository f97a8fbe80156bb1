"""OffsetForLeaderEpoch (key 23): find the end of a leader epoch, after which logs may differ.

Never waits. After a change of leader a consumer asks whether the records it read still exist; a
follower asks too. Only the leader answers, whatever replica id the request has; a debugger (-2) is
no exception, as in Kafka. A client that expects another leader epoch gets an error. -1 and -1
without an error means that the epoch is unknown here. Source: KIP-101, KIP-279, KIP-320.

Needs CLUSTER_ACTION on the cluster, as a follower has it, or DESCRIBE on each topic.
"""

from collections.abc import Callable
from functools import partial

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)
from trio_kafka.replication.leader.offsets import epoch_end
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import lazily
from trio_kafka.security.operations import Operation


@api(OffsetForLeaderEpochRequest, largest=MANY_PARTITIONS)
def offset_for_leader_epoch(
    request: OffsetForLeaderEpochRequest, context: Context
) -> OffsetForLeaderEpochResponse:
    may_describe_all = context.is_authorized(Operation.CLUSTER_ACTION, cluster=True)

    def answer(topic: OffsetForLeaderTopic) -> OffsetForLeaderTopicResult:
        find: Callable[[OffsetForLeaderPartition], EpochEndOffset] = partial(
            _find, context, topic.topic
        )
        if not (may_describe_all or context.is_authorized(Operation.DESCRIBE, topic=topic.topic)):
            find = _deny
        return OffsetForLeaderTopicResult(topic.topic, lazily(topic.partitions, find))

    return OffsetForLeaderEpochResponse(topics=lazily(request.topics, answer))


def _deny(request_row: OffsetForLeaderPartition) -> EpochEndOffset:
    return EpochEndOffset(ErrorCode.TOPIC_AUTHORIZATION_FAILED, request_row.partition)


def _find(context: Context, topic: str, request_row: OffsetForLeaderPartition) -> EpochEndOffset:
    number = request_row.partition
    try:
        partition = context[Replicas].partition(topic, number)
        end = epoch_end(partition, request_row.leader_epoch, request_row.current_leader_epoch)
    except KafkaError as error:
        return EpochEndOffset(error.code, number)
    return EpochEndOffset(0, number, end.epoch, end.end_offset)
