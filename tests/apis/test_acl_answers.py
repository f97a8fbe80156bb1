"""Answers under the standard authorizer: operations, filtered lists, other errors."""

from typing import Any

import trio
from trio.testing import MockClock

from tests.apis.acls import allow, allow_cluster, ask_as_broker, broker_with_acls, deny
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from trio_kafka.security.acls.entries import PatternType
from trio_kafka.security.operations import OF_TOPIC, Operation, bits
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.broker import ServedBroker

TOPIC = ResourceType.TOPIC
GROUP = ResourceType.GROUP
BEAT_S = 5.0


async def create_topics(served: ServedBroker, *names: str) -> dict[str, bytes]:
    """Create topics as the broker; return their ids."""
    topics = [CreatableTopic(name, 1, 1) for name in names]
    answer = await ask_as_broker(served, CreateTopicsRequest(topics))
    return {topic.name: bytes(topic.topic_id) for topic in answer.topics}


async def test_a_topic_that_may_be_read_is_described_unless_describing_is_denied(
    autojump_clock: MockClock,
) -> None:
    """A denied READ hides nothing; a denied DESCRIBE does."""
    async with broker_with_acls(
        allow(Operation.ALL, name="read"),
        deny(Operation.READ, TOPIC, "read"),
        allow(Operation.READ, name="hidden"),
        deny(Operation.DESCRIBE, TOPIC, "hid", pattern=PatternType.PREFIXED),
    ) as served:
        await create_topics(served, "read", "hidden", "other")
        every = await served.ask(MetadataRequest(topics=None))
        named = await served.ask(MetadataRequest([MetadataRequestTopic(name="hidden")]))

    assert [topic.name for topic in every.topics] == ["read"]
    assert [topic.error_code for topic in named.topics] == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]


async def test_authorized_operations_are_those_that_entries_allow(
    autojump_clock: MockClock,
) -> None:
    async with broker_with_acls(
        allow(Operation.WRITE, name="t"),
        allow(Operation.ALTER_CONFIGS, name="t"),
        allow(Operation.DELETE, name="*"),
        deny(Operation.DELETE, TOPIC, "t"),
        allow_cluster(Operation.DESCRIBE),
        allow_cluster(Operation.CREATE),
        allow(Operation.ALL, name="all"),
    ) as served:
        await create_topics(served, "t", "all")
        topics = await served.ask(
            MetadataRequest(
                [MetadataRequestTopic(name="t"), MetadataRequestTopic(name="all")],
                include_topic_authorized_operations=True,
            )
        )
        cluster = await served.ask(
            DescribeClusterRequest(include_cluster_authorized_operations=True)
        )

    of_topic = (Operation.WRITE, Operation.DESCRIBE, Operation.ALTER_CONFIGS)
    assert topics.topics[0].topic_authorized_operations == bits(
        (*of_topic, Operation.DESCRIBE_CONFIGS)
    )
    assert topics.topics[1].topic_authorized_operations == OF_TOPIC
    assert cluster.cluster_authorized_operations == bits((Operation.DESCRIBE, Operation.CREATE))


async def test_a_pattern_of_a_subscription_matches_what_the_member_may_describe(
    autojump_clock: MockClock,
) -> None:
    async with broker_with_acls(
        allow(Operation.READ, GROUP, "g"),
        allow(Operation.DESCRIBE, name="topic-open", pattern=PatternType.PREFIXED),
    ) as served:
        ids = await create_topics(served, "topic-open", "topic-secret")
        joining = ConsumerGroupHeartbeatRequest(
            "g",
            "member",
            0,
            rebalance_timeout_ms=10_000,
            subscribed_topic_regex="topic-.*",
            topic_partitions=[],
        )
        await served.serve_groups("g")
        answer: Any = await assigned(served, joining)

    assert [bytes(topic.topic_id) for topic in answer.assignment.topic_partitions] == [
        ids["topic-open"]
    ]


async def assigned(served: ServedBroker, joining: ConsumerGroupHeartbeatRequest) -> Any:
    """Join, and beat until partitions are assigned."""
    answer = await served.ask(joining)
    for _ in range(20):
        assert answer.error_code in (0, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), answer
        if answer.assignment is not None and answer.assignment.topic_partitions:
            return answer
        beat = joining
        if not answer.error_code:
            beat = ConsumerGroupHeartbeatRequest("g", "member", answer.member_epoch)
        await trio.sleep(BEAT_S)
        answer = await served.ask(beat)
    raise AssertionError(answer)


async def test_an_idempotent_producer_needs_to_write_to_any_topic(
    autojump_clock: MockClock,
) -> None:
    written = allow(Operation.WRITE, name="orders-x")
    dominating = deny(Operation.WRITE, TOPIC, "orders", pattern=PatternType.PREFIXED)
    codes = []
    for acls in ((), (written,), (written, dominating)):
        async with broker_with_acls(*acls) as served:
            codes.append((await served.ask(InitProducerIdRequest(None, 1000))).error_code)

    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert codes == [denied, 0, denied]
