"""OffsetDelete (key 47): delete offsets that a group has stored.

Waits, parked, until the tombstones are committed. The offsets of a topic that a member of the group
reads stay: GROUP_SUBSCRIBED_TO_TOPIC. Source: KIP-496.

Needs DELETE on the group, without which the whole request fails, and READ on each topic.
"""

from typing import Final

from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.coordinators.groups.offset_values import TopicPartitions
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import ZERO_TOPIC_ID
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation

MOST_ITEMS: Final = 20_000  # topics and partitions of one request: 20 ms


@api(OffsetDeleteRequest)
def offset_delete(request: OffsetDeleteRequest, context: Context) -> Eventual[OffsetDeleteResponse]:
    context.authorize(Operation.DELETE, group=request.group_id)
    if len(request.topics) + sum(len(topic.partitions) for topic in request.topics) > MOST_ITEMS:
        text = f"too many topics and partitions: expected at most {MOST_ITEMS}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)
    response = OffsetDeleteResponse()
    topics: list[TopicPartitions] = []
    rows: list[OffsetDeleteResponsePartition] = []  # of `wanted`, in its order
    for topic in request.topics:
        row = OffsetDeleteResponseTopic(topic.name)
        response.topics.append(row)
        image = context.image.topics.get(topic.name)
        existing = () if image is None else image.partitions
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not context.is_authorized(Operation.READ, topic=topic.name):
            existing, missing = (), ErrorCode.TOPIC_AUTHORIZATION_FAILED
        numbers: list[int] = []
        for row_request in topic.partitions:
            part = OffsetDeleteResponsePartition(row_request.partition_index)
            row.partitions.append(part)
            if row_request.partition_index not in existing:
                part.error_code = missing
                continue
            rows.append(part)
            numbers.append(row_request.partition_index)
        topics.append(TopicPartitions(topic.name, ZERO_TOPIC_ID, numbers))
    if not rows and any(row.partitions for row in response.topics):
        return response  # an error of the group is not told then, as in Kafka

    def answer(codes: list[int]) -> OffsetDeleteResponse:
        for part, code in zip(rows, codes, strict=True):
            part.error_code = code
        return response

    return then(context[GroupCoordinator].offsets.delete(request.group_id, topics), answer)
