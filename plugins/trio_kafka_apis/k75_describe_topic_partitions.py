"""DescribeTopicPartitions (key 75): describe partitions of topics, sorted by name, page by page.

Never waits; a page is made in steps. A page has as many partitions as the request and
`max.request.partition.size.limit` allow, at least one, and says where the next page begins. A
request that names no topic gets all topics that exist when the page is made. A topic that does not
exist takes no room on a page, but the next page may begin with it. Source: KIP-966.

Needs DESCRIBE on each topic. A named topic without it gets TOPIC_AUTHORIZATION_FAILED, at the end
of the page that reaches it and whether it exists or not; a list of all topics leaves it out.
"""

from collections.abc import Iterator
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.endpoints import (
    OnlineDirectories,
    endpoint_on,
    offline_replicas,
    online_directories,
)
from trio_kafka.metadata.image import MetadataImage, PartitionState, TopicImage
from trio_kafka.metadata.names import check_topic_name, is_internal
from trio_kafka.model import NO_NODE
from trio_kafka.pending import Eventual, Work
from trio_kafka.protocol.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import lazily
from trio_kafka.requests.rows import for_each
from trio_kafka.scheduling.chunked_work import sorted_in_steps
from trio_kafka.security.operations import Operation

# The topics of a page, and where the next page begins.
Page = tuple[list[DescribeTopicPartitionsResponseTopic], Cursor | None]

STEP: Final = 10  # topics in one step


@api(DescribeTopicPartitionsRequest, largest=MANY_PARTITIONS)
def describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, context: Context
) -> Eventual[DescribeTopicPartitionsResponse]:
    page = _Page(request, context)
    return Work(sorted_in_steps(_names(request, context.image))).then(page.fill)


def _names(request: DescribeTopicPartitionsRequest, image: MetadataImage) -> Iterator[str]:
    """Return the topics from the cursor's on. Raises KafkaError(INVALID_REQUEST)."""
    cursor = request.cursor
    begin = "" if cursor is None else cursor.topic_name
    names = dict.fromkeys(topic.name for topic in request.topics)
    if cursor is not None and names and begin not in names:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"cursor topic {begin!r}: expected one of the topics"
        )
    if cursor is not None and cursor.partition_index < 0:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"cursor partition {cursor.partition_index}: expected 0 or more",
        )
    return (name for name in names or image.topics if name >= begin)


class _Page:
    """One page of the answer: topics with at most a number of partitions, and the cursor after."""

    def __init__(self, request: DescribeTopicPartitionsRequest, context: Context) -> None:
        limit = context.config.max_request_partition_size_limit
        self._room = max(min(limit, request.response_partition_limit), 1)
        self._request = request
        self._context = context
        self._image = context.image
        self._response = DescribeTopicPartitionsResponse()
        self._denied: list[DescribeTopicPartitionsResponseTopic] = []

    def fill(self, names: list[str]) -> Eventual[DescribeTopicPartitionsResponse]:
        """Return the response. names: of the topics from the cursor's on, sorted."""
        return for_each(names, self._add, self._finished, at_once=STEP)

    def _add(self, name: str) -> None:
        """Add a topic, unless the page is full."""
        if self._response.next_cursor is not None:
            return
        if not self._context.is_authorized(Operation.DESCRIBE, topic=name):
            if self._request.topics:
                self._denied.append(_denied(name))
            return
        if not self._room:
            self._response.next_cursor = Cursor(name, 0)
            return
        topic = self._image.topics.get(name)
        if topic is None:
            self._response.topics.append(_unknown(name, self._context))
            return
        cursor, count = self._request.cursor, len(topic.partitions)
        begin = 0 if cursor is None or cursor.topic_name != name else cursor.partition_index
        end = min(count, begin + self._room)
        row = _topic(topic, range(begin, end), image=self._image, context=self._context)
        self._response.topics.append(row)
        self._room -= max(end - begin, 0)
        if end < count:
            self._response.next_cursor = Cursor(name, end)

    def _finished(self) -> DescribeTopicPartitionsResponse:
        self._response.topics += self._denied
        return self._response


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
    topic: TopicImage, numbers: range, *, image: MetadataImage, context: Context
) -> DescribeTopicPartitionsResponseTopic:
    listener = context.listener
    online = online_directories(image, listener)

    def describe(number: int) -> DescribeTopicPartitionsResponsePartition:
        state = topic.partitions[number]
        led = endpoint_on(image, state.leader, listener) is not None
        return _partition(number, state, led=led, online=online)

    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=lazily(numbers, describe),
        topic_authorized_operations=context.authorized_operations(topic=topic.name),
    )


def _partition(
    number: int, state: PartitionState, *, led: bool, online: OnlineDirectories
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
