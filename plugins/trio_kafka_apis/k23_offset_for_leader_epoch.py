"""OffsetForLeaderEpoch (key 23): where an epoch of a leader ended: from there on logs may differ.

Never waits. Consumers ask after a leader changed, whether what they read is still there; followers
ask as well. Only the leader answers, whatever replica id the request has: that of a debugger (-2)
opens no replica here, as in Kafka. A client that believes in another leader epoch is told so. -1
and -1 without an error: the epoch is not known here.
Source: KIP-101, KIP-279, KIP-320.
"""

from functools import partial

from trio_kafka.plugin import MANY_PARTITIONS, Context, KafkaError, api, epoch_end, lazily
from trio_kafka.protocol.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)


@api(OffsetForLeaderEpochRequest, largest=MANY_PARTITIONS)
def offset_for_leader_epoch(
    request: OffsetForLeaderEpochRequest, context: Context
) -> OffsetForLeaderEpochResponse:
    def answer(topic: OffsetForLeaderTopic) -> OffsetForLeaderTopicResult:
        find = partial(_find, context, topic.topic)
        return OffsetForLeaderTopicResult(topic.topic, lazily(topic.partitions, find))

    return OffsetForLeaderEpochResponse(topics=lazily(request.topics, answer))


def _find(context: Context, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    number = asked.partition
    try:
        partition = context.replicas.partition(topic, number)
        found = epoch_end(partition, asked.leader_epoch, asked.current_leader_epoch)
    except KafkaError as error:
        return EpochEndOffset(error.code, number)
    return EpochEndOffset(0, number, found.epoch, found.end_offset)
