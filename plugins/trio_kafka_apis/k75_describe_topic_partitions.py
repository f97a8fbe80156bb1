"""DescribeTopicPartitions (key 75): describe partitions of topics, sorted by name, page by page.

Never waits; a page is made in steps. A page has as many partitions as the request and
`max.request.partition.size.limit` allow, at least one, and says where the next page begins. A
request that names no topic gets all topics that exist when the page is made. A topic that does not
exist takes no room on a page, but the next page may begin with it. Source: KIP-966.

Needs DESCRIBE on each topic. A named topic without it gets TOPIC_AUTHORIZATION_FAILED, at the end
of the page and whether it exists or not; a list of all topics leaves it out.
"""

from typing import Final

from trio_kafka.plugin import (
    ALLOW_ALL,
    MANY_PARTITIONS,
    NO_NODE,
    Context,
    ErrorCode,
    KafkaError,
    MetadataImage,
    OnlineDirectories,
    Operation,
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

# The topics of a page, and where the next page begins.
Page = tuple[list[DescribeTopicPartitionsResponseTopic], Cursor | None]

STEP: Final = 10  # topics in one step


@api(DescribeTopicPartitionsRequest, largest=MANY_PARTITIONS)
def describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, context: Context
) -> Steps[DescribeTopicPartitionsResponse]:
    limit = min(context.config.max_request_partition_size_limit, request.response_partition_limit)
    topics, cursor = yield from _page(request, max(limit, 1), context)
    return DescribeTopicPartitionsResponse(topics=topics, next_cursor=cursor)


def _page(request: DescribeTopicPartitionsRequest, left: int, context: Context) -> Steps[Page]:
    """Return topics with at most `left` partitions. Raises KafkaError(INVALID_REQUEST)."""
    image, cursor = context.metadata.image, request.cursor
    names = yield from _names(request, image)
    allowed = context.authorized(Operation.DESCRIBE, topics=names)
    rows: list[DescribeTopicPartitionsResponseTopic] = []
    denied: list[DescribeTopicPartitionsResponseTopic] = []
    if request.topics and context.parts.authorizer is not ALLOW_ALL:
        kept: dict[str, None] = {}
        for part in in_slices(allowed, STEP):
            kept |= dict.fromkeys(part)
            yield
        denied = [_denied(name) for name in names if name not in kept]
        allowed = kept
    for some in in_slices(allowed, STEP):
        for name in some:
            if not left:
                return [*rows, *denied], Cursor(name, 0)
            topic = image.topics.get(name)
            if topic is None:
                rows.append(_unknown(name, context))
                continue
            count = len(topic.partitions)
            begin = 0 if cursor is None or cursor.topic_name != name else cursor.partition_index
            end = min(count, begin + left)
            rows.append(_topic(topic, range(begin, end), image, context))
            if end < count:
                return [*rows, *denied], Cursor(name, end)
            left -= max(end - begin, 0)
        yield
    return [*rows, *denied], None


def _names(request: DescribeTopicPartitionsRequest, image: MetadataImage) -> Steps[list[str]]:
    """Return the topics from the cursor's on, sorted. Raises KafkaError(INVALID_REQUEST)."""
    cursor = request.cursor
    begin = "" if cursor is None else cursor.topic_name
    asked = dict.fromkeys(topic.name for topic in request.topics)
    if cursor is not None and asked and begin not in asked:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"cursor topic {begin!r}: expected one of the topics"
        )
    if cursor is not None and cursor.partition_index < 0:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"cursor partition {cursor.partition_index}: expected 0 or more",
        )
    found = (name for name in asked or image.topics if name >= begin)
    return (yield from sorted_in_steps(found))


def _denied(name: str) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return DescribeTopicPartitionsResponseTopic(error_code=code, name=name)


def _unknown(name: str, context: Context) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_topic_name(name)
    except KafkaError as error:
        code = error.code
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        is_internal=is_internal(name),
        topic_authorized_operations=context.authorized_operations(topic=name),
    )


def _topic(
    topic: TopicImage, numbers: range, image: MetadataImage, context: Context
) -> DescribeTopicPartitionsResponseTopic:
    listener = context.listener
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
        topic_authorized_operations=context.authorized_operations(topic=topic.name),
    )


def _partition(
    number: int, state: PartitionState, led: bool, online: OnlineDirectories
) -> DescribeTopicPartitionsResponsePartition:
    """Return a partition. One without a leader on this listener is no error here."""
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
