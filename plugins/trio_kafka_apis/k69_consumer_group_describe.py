"""ConsumerGroupDescribe (key 69): consumer groups, their members, what these have and shall have
(KIP-848).

Waits, parked, until what it tells is committed. A group that is not there, or is a classic one, is
told so for itself. A group that is named twice is described
once. From version 1 on members are told apart by the protocol that they speak.
"""

from collections.abc import Sequence
from typing import Any, Final

from trio_kafka.plugin import (
    OF_GROUP,
    Context,
    DescribedConsumerGroup,
    DescribedTopic,
    KafkaError,
    api,
    rows_of,
)
from trio_kafka.protocol.messages.k69_consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)

CLASSIC: Final = 0
CONSUMER: Final = 1


@api(ConsumerGroupDescribeRequest)
def consumer_group_describe(request: ConsumerGroupDescribeRequest, context: Context) -> Any:
    names = list(dict.fromkeys(request.group_ids))
    operations = OF_GROUP if request.include_authorized_operations else None

    def answer(
        told: Sequence[DescribedConsumerGroup | KafkaError],
    ) -> ConsumerGroupDescribeResponse:
        def describe(of: tuple[str, DescribedConsumerGroup | KafkaError]) -> DescribedGroup:
            group_id, one = of
            if isinstance(one, KafkaError):
                return _refused(one, group_id)
            return _group(one, operations)

        rows = rows_of(tuple(zip(names, told, strict=True)), describe)
        return ConsumerGroupDescribeResponse(groups=rows)

    return context.groups.consumer.describe(names, answer)


def _refused(error: KafkaError, group_id: str) -> DescribedGroup:
    return DescribedGroup(error_code=error.code, error_message=error.message, group_id=group_id)


def _group(told: DescribedConsumerGroup, operations: int | None) -> DescribedGroup:
    group = DescribedGroup(
        group_id=told.group_id,
        group_state=told.state,
        group_epoch=told.epoch,
        assignment_epoch=told.assignment_epoch,
        assignor_name=told.assignor,
        members=[
            Member(
                member_id=one.member_id,
                instance_id=one.instance_id,
                rack_id=one.rack_id,
                member_epoch=one.epoch,
                client_id=one.client_id,
                client_host=one.client_host,
                subscribed_topic_names=list(one.topics),
                subscribed_topic_regex=one.regex,
                assignment=_assignment(one.assigned),
                target_assignment=_assignment(one.target),
                member_type=CLASSIC if one.classic else CONSUMER,
            )
            for one in told.members
        ],
    )
    if operations is not None:
        group.authorized_operations = operations
    return group


def _assignment(topics: Sequence[DescribedTopic]) -> Assignment:
    return Assignment([TopicPartitions(*topic) for topic in topics])
