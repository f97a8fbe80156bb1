"""DescribeTopicPartitions (key 75): partitions of topics, sorted by name, page by page.

Never waits. Anybody may ask. A page has as many partitions as request and
`max.request.partition.size.limit` allow, one at the least, and says where the next one begins. It
is made in steps. No topic named: all that there are when a page is made. A topic that does not
exist takes no place of a page, and may be where the next one begins.
Source: KIP-966.
"""

from typing import Final

from trio_kafka.plugin import (
    MANY_PARTITIONS,
    NO_NODE,
    OF_TOPIC,
    Context,
    ErrorCode,
    KafkaError,
    MetadataImage,
    OnlineDirectories,
    PartitionState,
    Steps,
    TopicImage,
    api,
    check_topic_name,
    endpoint_on,
    in_slices,
    is_internal,
    lazily,
    offline_replicas,
    online_directories,
    sorted_in_steps,
)
from trio_kafka.protocol.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

Page = tuple[list[DescribeTopicPartitionsResponseTopic], Cursor | None]  # and where the next begins

STEP: Final = 10  # topics that are looked at in one go


@api(DescribeTopicPartitionsRequest, largest=MANY_PARTITIONS)
def describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, context: Context
) -> Steps[DescribeTopicPartitionsResponse]:
    limit = min(context.config.max_request_partition_size_limit, request.response_partition_limit)
    topics, cursor = yield from _page(request, max(limit, 1), context)
    return DescribeTopicPartitionsResponse(topics=topics, next_cursor=cursor)


def _page(request: DescribeTopicPartitionsRequest, left: int, context: Context) -> Steps[Page]:
    """Topics with `left` partitions at most. Raises KafkaError(INVALID_REQUEST)."""
    image, cursor = context.metadata.image, request.cursor
    rows: list[DescribeTopicPartitionsResponseTopic] = []
    names = yield from _names(request, image)
    for some in in_slices(names, STEP):
        for name in some:
            if not left:
                return rows, Cursor(name, 0)
            topic = image.topics.get(name)
            if topic is None:
                rows.append(_unknown(name))
                continue
            count = len(topic.partitions)
            begin = 0 if cursor is None or cursor.topic_name != name else cursor.partition_index
            end = min(count, begin + left)
            rows.append(_topic(topic, range(begin, end), image, context.listener))
            if end < count:
                return rows, Cursor(name, end)
            left -= max(end - begin, 0)
        yield
    return rows, None


def _names(request: DescribeTopicPartitionsRequest, image: MetadataImage) -> Steps[list[str]]:
    """The topics from the cursor's on, sorted. Raises KafkaError(INVALID_REQUEST)."""
    cursor = request.cursor
    begin = "" if cursor is None else cursor.topic_name
    asked = dict.fromkeys(topic.name for topic in request.topics)
    if cursor is not None and asked and begin not in asked:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"the cursor's topic {begin!r} is not among those asked for"
        )
    if cursor is not None and cursor.partition_index < 0:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"the cursor's partition is {cursor.partition_index}"
        )
    found = (name for name in asked or image.topics if name >= begin)
    return (yield from sorted_in_steps(found))


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


def _topic(
    topic: TopicImage, numbers: range, image: MetadataImage, listener: str
) -> DescribeTopicPartitionsResponseTopic:
    online = online_directories(image, listener)

    def describe(number: int) -> DescribeTopicPartitionsResponsePartition:
        state = topic.partitions[number]
        led = endpoint_on(image, state.leader, listener) is not None
        return _partition(number, state, led, online)

    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=lazily(numbers, describe),
        topic_authorized_operations=OF_TOPIC,
    )


def _partition(
    number: int, state: PartitionState, led: bool, online: OnlineDirectories
) -> DescribeTopicPartitionsResponsePartition:
    """One that has no leader, or none on this listener, is no error here."""
    return DescribeTopicPartitionsResponsePartition(
        partition_index=number,
        leader_id=state.leader if led else NO_NODE,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        eligible_leader_replicas=list(state.elr),
        last_known_elr=list(state.last_known_elr),
        offline_replicas=list(offline_replicas(state, online)),
    )
