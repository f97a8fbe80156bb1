"""ConsumerGroupHeartbeat (key 68): a member of a consumer group lives, joins, leaves, and is told
what to read (KIP-848).

Waits, parked, until what it changes is committed; most change nothing. Version 0 lets the
coordinator choose the member's id, from version 1 on it is the client's. A member learns what it
has to give back, and what it has got, by an assignment in the answer; there is none where nothing
is new.
"""

from typing import Any

from trio_kafka.plugin import (
    Context,
    GroupHeartbeat,
    HeartbeatAnswer,
    OwnedTopic,
    api,
    client_host,
)
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)


@api(ConsumerGroupHeartbeatRequest)
def consumer_group_heartbeat(request: ConsumerGroupHeartbeatRequest, context: Context) -> Any:
    owned, asking = request.topic_partitions, context.request
    asked = GroupHeartbeat(
        group_id=request.group_id,
        member_id=request.member_id,
        epoch=request.member_epoch,
        client_id=asking.client_id,
        client_host=client_host(asking.connection.peer.host),
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=request.subscribed_topic_names,
        regex=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=None
        if owned is None
        else [OwnedTopic(topic.topic_id, topic.partitions) for topic in owned],
        version=context.version,
    )
    return context.groups.consumer.heartbeat(asked, _answer)


def _answer(told: HeartbeatAnswer) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if told.assignment is not None:
        assignment = Assignment(
            [TopicPartitions(topic, sorted(told.assignment[topic])) for topic in told.assignment]
        )
    return ConsumerGroupHeartbeatResponse(
        member_id=told.member_id,
        member_epoch=told.epoch,
        heartbeat_interval_ms=told.heartbeat_interval_ms,
        assignment=assignment,
    )
