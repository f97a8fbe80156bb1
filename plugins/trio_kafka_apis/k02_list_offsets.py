"""ListOffsets (key 2): find the offset that belongs to a timestamp, for each partition.

A search by timestamp reads indexes and batch headers, so it may wait for the disk. Special
timestamps never wait: -1 latest, -2 earliest, -3 largest timestamp, -4 earliest local, -5 latest
tiered, -6 earliest not yet tiered; this broker tiers nothing. One that the version does not know is
UNSUPPORTED_VERSION. A partition that is named twice gets INVALID_REQUEST. A consumer (replica id
-1) sees as far as its isolation level; a debugger (-2) is answered by any replica.

Needs DESCRIBE on each topic.
"""

from collections import Counter
from typing import Final

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.decompression import Decompression
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from trio_kafka.replication.leader.offsets import (
    ListedOffset,
    check_time_is_known,
    search_offset,
    special_offset,
)
from trio_kafka.replication.leader.read import Isolation, isolation_of
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import Pairs, visit
from trio_kafka.security.operations import Operation

CONSUMER: Final = -1
DEBUGGER: Final = -2
NOT_AVAILABLE_SINCE: Final = 5  # OFFSET_NOT_AVAILABLE, KIP-207
EPOCHS_SINCE: Final = 4
MANY: Final = 100  # topics and partitions in one step


@api(ListOffsetsRequest, largest=MANY_PARTITIONS)
async def list_offsets(request: ListOffsetsRequest, context: Context) -> ListOffsetsResponse:
    named: Counter[tuple[str, int]] = Counter()
    partitions = Pairs(request.topics, lambda topic: topic.partitions)

    def count(pair: tuple[ListOffsetsTopic, ListOffsetsPartition]) -> None:
        named[pair[0].name, pair[1].partition_index] += 1

    await visit(partitions, count)
    isolation = isolation_of(request.isolation_level)
    if request.replica_id != CONSUMER:
        isolation = Isolation.LOG_END
    response = ListOffsetsResponse()
    done = 0
    for topic in request.topics:
        row = ListOffsetsTopicResponse(topic.name)
        response.topics.append(row)
        done += 1
        if not done % MANY:
            await trio.lowlevel.checkpoint()
        may_describe = context.is_authorized(Operation.DESCRIBE, topic=topic.name)
        for partition_request in topic.partitions:
            done += 1
            if not done % MANY:
                await trio.lowlevel.checkpoint()
            number = partition_request.partition_index
            if not may_describe or named[topic.name, number] > 1:
                code = (
                    ErrorCode.INVALID_REQUEST
                    if may_describe
                    else ErrorCode.TOPIC_AUTHORIZATION_FAILED
                )
                row.partitions.append(ListOffsetsPartitionResponse(number, code))
                continue
            try:
                offset = await _find(
                    topic.name,
                    partition_request,
                    isolation,
                    context,
                    leader_only=request.replica_id != DEBUGGER,
                )
            except KafkaError as error:
                code = error.code
                if code == ErrorCode.OFFSET_NOT_AVAILABLE and context.version < NOT_AVAILABLE_SINCE:
                    code = ErrorCode.LEADER_NOT_AVAILABLE
                row.partitions.append(ListOffsetsPartitionResponse(number, code))
            else:
                epoch = offset.leader_epoch if context.version >= EPOCHS_SINCE else -1
                row.partitions.append(
                    ListOffsetsPartitionResponse(number, 0, offset.timestamp, offset.offset, epoch)
                )
    return response


async def _find(
    topic: str,
    partition_request: ListOffsetsPartition,
    isolation: Isolation,
    context: Context,
    *,
    leader_only: bool,
) -> ListedOffset:
    check_time_is_known(partition_request.timestamp, context.version)
    partition = context[Replicas].partition(topic, partition_request.partition_index)
    epoch = partition_request.current_leader_epoch
    offset = special_offset(
        partition, partition_request.timestamp, isolation, epoch, leader_only=leader_only
    )
    if offset is not None:
        return offset
    return await search_offset(
        partition,
        partition_request.timestamp,
        isolation,
        epoch,
        decompression=context[Decompression],
        leader_only=leader_only,
    )
