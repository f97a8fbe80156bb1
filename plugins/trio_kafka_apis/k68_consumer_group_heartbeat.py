"""ConsumerGroupHeartbeat (key 68): a member of a consumer group lives, joins, leaves, and is told
what to read (KIP-848).

Waits, parked, until what it changes is committed; most change nothing. Version 0 lets the
coordinator choose the member's id, from version 1 on it is the client's. A member learns what it
has to give back, and what it has got, by an assignment in the answer; there is none where nothing
is new.
"""

from typing import Any, Final

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

_JOINS: Final = 0  # an epoch
_SAME: Final = -1  # of a rebalance timeout: as before


@api(ConsumerGroupHeartbeatRequest)
def consumer_group_heartbeat(request: ConsumerGroupHeartbeatRequest, context: Context) -> Any:
    owned, asking = request.topic_partitions, context.request
    if (  # nearly always: it says that it lives, and no more
        owned is None
        and request.member_epoch > _JOINS
        and request.rebalance_timeout_ms == _SAME
        and request.instance_id is None
        and request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.server_assignor is None
        and request.rack_id is None
    ):
        who = (
            request.group_id,
            request.member_id,
            request.member_epoch,
            asking.client_id,
            client_host(asking.connection.peer.host),
        )
        return context.groups.consumer.alive(who, _answer)
    # By position, as all that is made for each heartbeat: by names it takes three times as long.
    asked = GroupHeartbeat(
        request.group_id,
        request.member_id,
        request.member_epoch,
        asking.client_id,
        client_host(asking.connection.peer.host),
        request.instance_id,
        request.rack_id,
        request.rebalance_timeout_ms,
        request.subscribed_topic_names,
        request.subscribed_topic_regex,
        request.server_assignor,
        None if owned is None else [OwnedTopic(one.topic_id, one.partitions) for one in owned],
        "",
        context.version,
    )
    return context.groups.consumer.heartbeat(asked, _answer)


def _answer(told: HeartbeatAnswer) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if told.assignment is not None:
        assignment = Assignment(
            [TopicPartitions(topic, sorted(told.assignment[topic])) for topic in told.assignment]
        )
    return ConsumerGroupHeartbeatResponse(
        0, 0, None, told.member_id, told.epoch, told.heartbeat_interval_ms, assignment
    )
