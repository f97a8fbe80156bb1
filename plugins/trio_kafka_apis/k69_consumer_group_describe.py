"""ConsumerGroupDescribe (key 69): describe consumer groups, members and assignments.

Waits, parked, until what it tells is committed. A group that does not exist, or is a classic one,
gets an error of its own. A group that is named twice is described once. From version 1 on the
response tells which protocol a member speaks. Source: KIP-848.

Needs DESCRIBE on each group, and on every topic that is assigned in it: a group with another topic
gets TOPIC_AUTHORIZATION_FAILED instead of its members.
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka.coordinators.groups.consumer.values import DescribedGroup as DescribedConsumerGroup
from trio_kafka.coordinators.groups.consumer.values import (
    DescribedMember as DescribedConsumerMember,
)
from trio_kafka.coordinators.groups.consumer.values import DescribedTopic
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
)
from trio_kafka.protocol.structs.groups import DescribedAssignment, DescribedTopicPartitions
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import lazily, rows_of
from trio_kafka.security.operations import Operation

CLASSIC: Final = 0
CONSUMER: Final = 1
HIDDEN: Final = "the group reads topics that the client may not describe"


@api(ConsumerGroupDescribeRequest)
def consumer_group_describe(
    request: ConsumerGroupDescribeRequest, context: Context
) -> Eventual[ConsumerGroupDescribeResponse]:
    names = list(dict.fromkeys(request.group_ids))
    denied = KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    allowed = dict.fromkeys(context.authorized(Operation.DESCRIBE, groups=names))

    def answer(
        groups: Sequence[DescribedConsumerGroup | KafkaError],
    ) -> ConsumerGroupDescribeResponse:
        by_name = dict(zip(allowed, groups, strict=True))

        def describe(group_id: str) -> DescribedGroup:
            group = by_name.get(group_id, denied)
            if isinstance(group, KafkaError):
                return _refused(group, group_id)
            if not _may_describe_topics(group, context):
                return _refused(KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, HIDDEN), group_id)
            row = _group(group)
            if request.include_authorized_operations:
                row.authorized_operations = context.authorized_operations(group=group_id)
            return row

        return ConsumerGroupDescribeResponse(groups=rows_of(names, describe))

    if not allowed:
        return answer([])
    return then(context[GroupCoordinator].consumer.describe(list(allowed)), answer)


def _may_describe_topics(group: DescribedConsumerGroup, context: Context) -> bool:
    """Return whether the client may describe every topic in the assignments of a group."""
    if context.allows_all:
        return True
    topics = {
        topic.topic for member in group.members for topic in (*member.assigned, *member.target)
    }
    return all(context.is_authorized(Operation.DESCRIBE, topic=topic) for topic in topics)


def _refused(error: KafkaError, group_id: str) -> DescribedGroup:
    return DescribedGroup(error_code=error.code, error_message=error.message, group_id=group_id)


def _group(group: DescribedConsumerGroup) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor,
        members=lazily(group.members, _member),
    )


def _member(member: DescribedConsumerMember) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(member.assigned),
        target_assignment=_assignment(member.target),
        member_type=CLASSIC if member.classic else CONSUMER,
    )


def _assignment(topics: Sequence[DescribedTopic]) -> DescribedAssignment:
    return DescribedAssignment(rows_of(topics, lambda topic: DescribedTopicPartitions(*topic)))
