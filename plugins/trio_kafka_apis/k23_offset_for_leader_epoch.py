"""OffsetForLeaderEpoch (key 23): where an epoch of a leader ended: from there on logs may differ.

Never waits. Consumers ask after a leader changed, whether what they read is still there; followers
ask as well. Only the leader answers, whatever replica id the request has: that of a debugger (-2)
opens no replica here, as in Kafka. A client that believes in another leader epoch is told so. -1
and -1 without an error: the epoch is not known here.
Source: KIP-101, KIP-279, KIP-320.
"""

from trio_kafka.plugin import Context, KafkaError, api, epoch_end
from trio_kafka.protocol.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


@api(OffsetForLeaderEpochRequest)
def offset_for_leader_epoch(
    request: OffsetForLeaderEpochRequest, context: Context
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic.topic, [_find(topic.topic, asked, context) for asked in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _find(topic: str, asked: OffsetForLeaderPartition, context: Context) -> EpochEndOffset:
    number = asked.partition
    try:
        partition = context.replicas.partition(topic, number)
        found = epoch_end(partition, asked.leader_epoch, asked.current_leader_epoch)
    except KafkaError as error:
        return EpochEndOffset(error.code, number)
    return EpochEndOffset(0, number, found.epoch, found.end_offset)
