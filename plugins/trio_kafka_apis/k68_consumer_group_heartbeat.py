"""ConsumerGroupHeartbeat (key 68): join and leave a consumer group, stay alive, be assigned.

Waits, parked, until a change is committed; most heartbeats change nothing. In version 0 the
coordinator chooses the member's id, from version 1 on the client does. The response has an
assignment only if there is a new one: it tells what to give back and what to read. Source: KIP-848.

Needs READ on the group, and DESCRIBE on each topic in the subscription. Without one of them the
whole request fails. A regular expression matches only topics that the member may describe: the one
whose heartbeat caused the search.
"""

from functools import partial

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.consumer.values import Heartbeat as GroupHeartbeat
from trio_kafka.coordinators.groups.consumer.values import HeartbeatAnswer, OwnedTopic
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from trio_kafka.protocol.structs.cluster import TopicPartitions
from trio_kafka.protocol.structs.groups import Assignment
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import for_each
from trio_kafka.security.operations import Operation


@api(ConsumerGroupHeartbeatRequest)
def consumer_group_heartbeat(
    request: ConsumerGroupHeartbeatRequest, context: Context
) -> Eventual[ConsumerGroupHeartbeatResponse]:
    context.authorize(Operation.READ, group=request.group_id)
    names = request.subscribed_topic_names
    if not names:
        return _heartbeat(request, context, names)
    topics = _SubscribedTopics(context)
    return for_each(names, topics.add, lambda: _heartbeat(request, context, list(topics.names)))


@define(eq=False)
class _SubscribedTopics:
    """Topics of a subscription, each once: a mebibyte names one topic 250,000 times."""

    context: Context
    names: dict[str, None] = field(factory=dict, init=False)

    def add(self, name: str) -> None:
        """Add a topic. Raises KafkaError, which names no topic, if the client may not describe
        it.
        """
        if name in self.names:
            return
        if not _may_describe(self.context, name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.names[name] = None


def _heartbeat(
    request: ConsumerGroupHeartbeatRequest, context: Context, topics: list[str] | None
) -> Eventual[ConsumerGroupHeartbeatResponse]:
    owned = request.topic_partitions
    owned_topics = None
    if owned is not None:
        owned_topics = [OwnedTopic(topic.topic_id, topic.partitions) for topic in owned]
    heartbeat = GroupHeartbeat(
        group_id=request.group_id,
        member_id=request.member_id,
        epoch=request.member_epoch,
        client_id=context.client_id,
        client_host=context.client_host,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=topics,
        regex=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=owned_topics,
        version=context.version,
        may_describe=None if context.allows_all else partial(_may_describe, context),
    )
    return then(context[GroupCoordinator].consumer.heartbeat(heartbeat), _answer)


def _may_describe(context: Context, topic: str) -> bool:
    return context.is_authorized(Operation.DESCRIBE, topic=topic)


def _answer(answer: HeartbeatAnswer) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if answer.assignment is not None:
        assignment = Assignment(
            [
                TopicPartitions(topic, sorted(answer.assignment[topic]))
                for topic in answer.assignment
            ]
        )
    return ConsumerGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )
