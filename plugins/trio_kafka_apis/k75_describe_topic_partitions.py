"""DescribeTopicPartitions (key 75): partitions of topics, sorted by name, page by page.

Waits for nothing, but lets others run between slices. Anybody may ask. A page has as many
partitions as request and `max.request.partition.size.limit` allow, one at the least, and says where
the next one begins. No topic named: all that there are when a page is made. A topic that does not
exist takes no place of a page, and may be where the next one begins.
Source: KIP-966.
"""

from typing import Final

import trio

from trio_kafka.plugin import (
    NO_NODE,
    OF_TOPIC,
    Context,
    ErrorCode,
    KafkaError,
    MetadataImage,
    PartitionState,
    TopicImage,
    api,
    check_topic_name,
    endpoint_on,
    is_internal,
    offline_replicas,
)
from trio_kafka.protocol.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

SLICE: Final = 100  # partitions described without letting others run: about 0.5 ms


@api(DescribeTopicPartitionsRequest)
async def describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, context: Context
) -> DescribeTopicPartitionsResponse:
    image, cursor = context.metadata.image, request.cursor
    names = _names(request, image)
    limit = min(context.config.max_request_partition_size_limit, request.response_partition_limit)
    left = max(limit, 1)
    response = DescribeTopicPartitionsResponse()
    await trio.lowlevel.checkpoint()
    for name in names:
        if not left:
            response.next_cursor = Cursor(name, 0)
            break
        topic = image.topics.get(name)
        if topic is None:
            response.topics.append(_unknown(name))
            continue
        row = _topic(topic)
        response.topics.append(row)
        begin = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        end = min(len(topic.partitions), begin + left)
        for number in range(begin, end):
            state = topic.partitions[number]
            row.partitions.append(_partition(number, state, image, context.listener))
            left -= 1
            if left % SLICE == 0:
                await trio.lowlevel.checkpoint()
        if end < len(topic.partitions):
            response.next_cursor = Cursor(name, end)
            break
    return response


def _names(request: DescribeTopicPartitionsRequest, image: MetadataImage) -> list[str]:
    """The topics from the cursor's on. Raises KafkaError(INVALID_REQUEST)."""
    cursor = request.cursor
    begin = "" if cursor is None else cursor.topic_name
    asked = [topic.name for topic in request.topics]
    if cursor is not None and asked and begin not in asked:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"the cursor's topic {begin!r} is not among those asked for"
        )
    if cursor is not None and cursor.partition_index < 0:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"the cursor's partition is {cursor.partition_index}"
        )
    return sorted({name for name in asked or image.topics if name >= begin})


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_topic_name(name)
    except KafkaError as error:
        code = error.code
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        is_internal=is_internal(name),
        topic_authorized_operations=OF_TOPIC,
    )


def _topic(topic: TopicImage) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        topic_authorized_operations=OF_TOPIC,
    )


def _partition(
    number: int, state: PartitionState, image: MetadataImage, listener: str
) -> DescribeTopicPartitionsResponsePartition:
    """One that has no leader, or none on this listener, is no error here."""
    led = endpoint_on(image, state.leader, listener) is not None
    return DescribeTopicPartitionsResponsePartition(
        partition_index=number,
        leader_id=state.leader if led else NO_NODE,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        eligible_leader_replicas=list(state.elr),
        last_known_elr=list(state.last_known_elr),
        offline_replicas=list(offline_replicas(image, state, listener)),
    )
