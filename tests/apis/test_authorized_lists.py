"""A client that may see one topic and one group: what is filtered, and what is refused by item."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer, allow_only
from tests.apis.kit import batch, broker, fetch_request, partitions_of, parts_of, values_of, write
from tests.apis.test_k68_consumer_group_heartbeat import joining
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.model import Endpoint, TopicId
from trio_kafka.protocol.messages import k00_produce as k00
from trio_kafka.protocol.messages import k01_fetch as k01
from trio_kafka.protocol.messages import k03_metadata as k03
from trio_kafka.protocol.messages import k08_offset_commit as k08
from trio_kafka.protocol.messages import k09_offset_fetch as k09
from trio_kafka.protocol.messages import k19_create_topics as k19
from trio_kafka.protocol.messages import k20_delete_topics as k20
from trio_kafka.protocol.messages import k32_describe_configs as k32
from trio_kafka.protocol.messages import k37_create_partitions as k37
from trio_kafka.protocol.messages import k44_incremental_alter_configs as k44
from trio_kafka.protocol.messages import k75_describe_topic_partitions as k75
from trio_kafka.protocol.messages.k15_describe_groups import DescribeGroupsRequest
from trio_kafka.protocol.messages.k16_list_groups import ListGroupsRequest
from trio_kafka.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from trio_kafka.protocol.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest
from trio_kafka.security.authorizer import ALLOW_ALL
from trio_kafka.security.operations import OF_TOPIC, Operation, bits
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import Resource, ResourceType
from trio_kafka.testing.broker import ServedBroker
from trio_kafka.testing.scripted_client import request_frame

DENIED, NO_GROUP = ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED
MINE, OTHERS = "mine", "others"


@asynccontextmanager
async def two_topics() -> AsyncIterator[tuple[ServedBroker, TopicId, TopicId]]:
    """A broker with topics and groups "mine" and "others"; the client may do all with "mine"."""
    async with broker() as served:
        mine, others = await served.create_topic(MINE), await served.create_topic(OTHERS)
        await served.serve_groups(MINE, OTHERS)
        for topic in (MINE, OTHERS):
            await write(served, topic, topic.encode())
            for group in (MINE, OTHERS):
                await served.ask(commit(group, topic), 9)
        served.broker.parts.authorizer = allow_only(MINE)
        yield served, mine, others
        served.broker.parts.authorizer = ALLOW_ALL


def commit(group: str, *topics: str) -> k08.OffsetCommitRequest:
    offset = k08.OffsetCommitRequestPartition(0, 1)
    named = [k08.OffsetCommitRequestTopic(topic, partitions=[offset]) for topic in topics]
    return k08.OffsetCommitRequest(group, topics=named)


def described(answer: Any) -> dict[str | bytes, int]:
    return {topic.name or topic.topic_id: topic.error_code for topic in answer.topics}


def metadata(*topics: str | TopicId, **fields: Any) -> k03.MetadataRequest:
    named = [
        k03.MetadataRequestTopic(name=topic)
        if isinstance(topic, str)
        else k03.MetadataRequestTopic(topic, None)
        for topic in topics
    ]
    return k03.MetadataRequest(topics=named, **fields)


async def test_metadata_of_all_topics_lists_only_authorized_topics(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, mine, others):
        every = await served.ask(k03.MetadataRequest(topics=None))
        named = await served.ask(metadata(MINE, OTHERS, "none"))
        by_id = await served.ask(metadata(mine, others, TopicId(bytes(15) + b"\x01")))

    assert described(every) == {MINE: 0}
    assert every.brokers
    assert described(named) == {MINE: 0, OTHERS: DENIED, "none": DENIED}
    assert {topic.topic_id for topic in named.topics if topic.error_code} == {bytes(16)}
    assert [(topic.name, topic.error_code) for topic in by_id.topics] == [
        (MINE, 0),
        (None, DENIED),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    ]


async def test_cached_metadata_answers_contain_only_topics_that_the_client_may_describe(
    autojump_clock: MockClock,
) -> None:
    def rule(principal: str) -> RuleAuthorizer:
        return allow_only(MINE) if principal == "alice" else allow_only(OTHERS)

    class ByPrincipal(RuleAuthorizer):
        def authorize(
            self, principal: Principal, host: str, operation: Operation, resource: Resource
        ) -> bool:
            return rule(principal.name).authorize(principal, host, operation, resource)

    async with two_topics() as (served, _, _):
        parts = served.broker.parts
        result: list[tuple[Any, ...]] = []
        for authorizer in (ByPrincipal(lambda *_: True), ALLOW_ALL, allow_only(MINE)):
            parts.authorizer = authorizer
            for name in ("alice", "bob", "alice", "bob"):
                who = Principal("User", name)
                every = await parts.in_process.ask(k03.MetadataRequest(topics=None), principal=who)
                named = await parts.in_process.ask(metadata(MINE), principal=who)
                result.append((sorted(map(str, described(every))), *described(named).values()))

    visible = [topic for topic in result[4][0] if not topic.startswith("__")]
    assert result[:4] == [([MINE], 0), ([OTHERS], DENIED)] * 2
    assert visible == [MINE, OTHERS]
    assert result[8:] == [([MINE], 0)] * 4


async def test_a_topic_is_created_only_with_the_permission_to_create_it(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        parts = served.broker.parts
        parts.authorizer = RuleAuthorizer(
            lambda operation, resource: (
                operation is Operation.DESCRIBE
                or (resource.type, resource.name) == (ResourceType.TOPIC, MINE)
            )
        )
        first = await served.ask(metadata(MINE, OTHERS, allow_auto_topic_creation=True))
        quiet = await served.ask(metadata(OTHERS, allow_auto_topic_creation=False))
        while MINE not in parts.metadata.image.topics:
            await served.ask(metadata(MINE))
        topics = set(parts.metadata.image.topics)
        parts.authorizer = ALLOW_ALL

    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert described(first) == {MINE: missing, OTHERS: DENIED}
    assert described(quiet) == {OTHERS: missing}
    assert OTHERS not in topics


async def test_authorized_operations_in_responses_are_those_that_the_client_may_perform(
    autojump_clock: MockClock,
) -> None:
    allowed = {Operation.DESCRIBE, Operation.READ, Operation.ALTER}
    async with broker() as served:
        await served.create_topic(MINE)
        parts = served.broker.parts
        parts.authorizer = RuleAuthorizer(lambda operation, _: operation in allowed)
        options = {"include_topic_authorized_operations": True}
        old = metadata(MINE, **options, include_cluster_authorized_operations=True)
        topic = await served.ask(metadata(MINE, **options))
        cluster = await served.ask(old, 10)
        both = await served.ask(DescribeClusterRequest(include_cluster_authorized_operations=True))
        page = await served.ask(k75.DescribeTopicPartitionsRequest())
        parts.authorizer = ALLOW_ALL
        again = await served.ask(metadata(MINE, **options))

    of_cluster = bits({Operation.DESCRIBE, Operation.ALTER})
    assert topic.topics[0].topic_authorized_operations == bits(allowed)
    assert cluster.cluster_authorized_operations == of_cluster
    assert both.cluster_authorized_operations == of_cluster
    assert page.topics[0].topic_authorized_operations == bits(allowed)
    assert again.topics[0].topic_authorized_operations == OF_TOPIC


async def test_describe_topic_partitions_lists_only_authorized_topics(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, _, _):
        every = await served.ask(k75.DescribeTopicPartitionsRequest())
        three = [k75.TopicRequest(name) for name in (OTHERS, "none", MINE)]
        named = await served.ask(k75.DescribeTopicPartitionsRequest(three))
        few = await served.ask(k75.DescribeTopicPartitionsRequest(response_partition_limit=1))

    assert described(every) == {MINE: 0}
    assert every.next_cursor is None
    assert described(named) == {MINE: 0, OTHERS: DENIED, "none": DENIED}
    assert (described(few), few.next_cursor) == ({MINE: 0}, None)


def id_or_name(version: int, name: str, topic_id: TopicId) -> str | TopicId:
    return topic_id if version >= 13 else name


@pytest.mark.parametrize("version", [12, 13])
async def test_produce_writes_only_to_authorized_topics(
    autojump_clock: MockClock, version: int
) -> None:
    async with two_topics() as (served, mine, others):
        topics = [
            k00.TopicProduceData(
                name="" if version >= 13 else name,
                topic_id=topic_id if version >= 13 else bytes(16),
                partition_data=[k00.PartitionProduceData(0, batch(b"new"))],
            )
            for name, topic_id in ((OTHERS, others), (MINE, mine))
        ]
        answer = await served.ask(
            k00.ProduceRequest(acks=-1, timeout_ms=9, topic_data=topics), version
        )
        ends = {
            partition.at.topic: partition.local_log().end_offset
            for partition in served.broker.replicas.partitions
            if partition.at.topic in (MINE, OTHERS)
        }

    assert [(part.error_code, part.base_offset) for part in parts_of(answer)] == [
        (DENIED, -1),
        (0, 1),
    ]
    assert ends == {MINE: 2, OTHERS: 1}


async def test_produce_with_acks_0_to_a_denied_topic_closes_the_connection(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, _, _), served.connect() as client:
        await client.send(request_frame(produce_of(OTHERS, acks=0), 12))
        with pytest.raises(EOFError):
            await client.ask(metadata(MINE), 12)


def produce_of(topic: str, *, acks: int) -> k00.ProduceRequest:
    data = [k00.PartitionProduceData(0, batch(b"new"))]
    return k00.ProduceRequest(
        acks=acks, topic_data=[k00.TopicProduceData(topic, partition_data=data)]
    )


async def test_a_transactional_batch_needs_permission_on_its_transactional_id(
    autojump_clock: MockClock,
) -> None:
    fields = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    async with two_topics() as (served, _, _):
        result = []
        for transactional_id in (None, OTHERS, MINE):
            data = [k00.PartitionProduceData(0, batch(b"x", **fields))]
            topics = [k00.TopicProduceData(MINE, partition_data=data)]
            answer = await served.ask(k00.ProduceRequest(transactional_id, -1, 9, topics), 12)
            result += [part.error_code for part in parts_of(answer)]

    assert result[:2] == [code, code]
    assert result[2] != code


@pytest.mark.parametrize("version", [12, 17])
async def test_fetch_reads_only_authorized_topics(autojump_clock: MockClock, version: int) -> None:
    async with two_topics() as (served, mine, others):
        topics = [
            fetch_request(id_or_name(version, *topic), 0).topics[0]
            for topic in ((OTHERS, others), (MINE, mine))
        ]
        request = k01.FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=topics)
        plain = await served.ask(request, version)
        request.session_id, request.session_epoch = 0, 0
        begun = await served.ask(request, version)
        session = {"session_id": begun.session_id, "session_epoch": 1}
        polled = await served.ask(fetch_request(None, **session), version)
        follower = fetch_request(id_or_name(version, MINE, mine), 0)
        if version < 15:
            follower.replica_id = 5
        else:
            follower.replica_state = k01.ReplicaState(5, -1)
        denied = await served.ask(follower, version)

    for answer in (plain, begun):
        other, own = partitions_of(answer)
        assert (other.error_code, values_of(other)) == (DENIED, [])
        assert (own.error_code, values_of(own)) == (0, [b"mine"])
    assert begun.session_id
    assert [partition.error_code for partition in partitions_of(polled)] == [DENIED, 0]
    assert [partition.error_code for partition in partitions_of(denied)] == [DENIED]


async def test_a_fetch_session_reads_nothing_after_its_permission_is_revoked(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, mine, _):
        request = fetch_request(mine, 0)
        request.session_id, request.session_epoch = 0, 0
        begun = await served.ask(request)
        served.broker.parts.authorizer = ALLOW_ALL
        await write(served, MINE, b"secret")
        served.broker.parts.authorizer = allow_only(OTHERS)
        session = {"session_id": begun.session_id, "session_epoch": 1}
        (polled,) = partitions_of(await served.ask(fetch_request(None, **session)))

    assert (polled.error_code, values_of(polled)) == (DENIED, [])


async def test_offsets_are_committed_and_fetched_only_with_permission_on_group_and_topic(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, _, _):
        done = await served.ask(commit(MINE, OTHERS, MINE), 9)
        every, named = [
            k09.OffsetFetchRequestGroup(MINE, topics=topics)
            for topics in (
                None,
                [
                    k09.OffsetFetchRequestTopics(name, partition_indexes=[0])
                    for name in (OTHERS, MINE)
                ],
            )
        ]
        foreign = k09.OffsetFetchRequestGroup(OTHERS, topics=None)
        response = await served.ask(k09.OffsetFetchRequest(groups=[foreign, every]), 9)
        told_named = await served.ask(k09.OffsetFetchRequest(groups=[named]), 9)
        old_every = await served.ask(k09.OffsetFetchRequest(MINE, None), 7)
        two = [k09.OffsetFetchRequestTopic(name, [0]) for name in (OTHERS, MINE)]
        old = await served.ask(k09.OffsetFetchRequest(MINE, two), 7)
        old_foreign = await served.ask(k09.OffsetFetchRequest(OTHERS, two), 7)

    def rows(topics: Any) -> list[tuple[str, int, int]]:
        return [
            (topic.name, part.committed_offset, part.error_code)
            for topic in topics
            for part in topic.partitions
        ]

    both = [(OTHERS, -1, DENIED), (MINE, 1, 0)]
    assert [topic.partitions[0].error_code for topic in done.topics] == [DENIED, 0]
    assert [group.error_code for group in response.groups] == [NO_GROUP, 0]
    assert [rows(group.topics) for group in response.groups] == [[], [(MINE, 1, 0)]]
    assert [rows(group.topics) for group in told_named.groups] == [both]
    assert rows(old_every.topics) == [(MINE, 1, 0)]
    assert rows(old.topics) == both
    assert old_foreign.error_code == NO_GROUP


async def test_groups_are_authorized_one_by_one_in_list_describe_and_delete(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, _, _):
        listed = await served.ask(ListGroupsRequest())
        both = await served.ask(DescribeGroupsRequest([OTHERS, MINE, OTHERS]))
        gone = await served.ask(DeleteGroupsRequest([OTHERS, MINE]))
        served.broker.parts.authorizer = ALLOW_ALL
        response = await served.ask(ListGroupsRequest())

    assert [group.group_id for group in listed.groups] == [MINE]
    assert [(group.group_id, group.error_code) for group in both.groups] == [
        (OTHERS, NO_GROUP),
        (MINE, 0),
    ]
    assert [(result.group_id, result.error_code) for result in gone.results] == [
        (OTHERS, NO_GROUP),
        (MINE, 0),
    ]
    assert [group.group_id for group in response.groups] == [OTHERS]


async def test_all_groups_are_listed_with_permission_to_describe_the_cluster(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, _, _):
        served.broker.parts.authorizer = allow_only("kafka-cluster")
        listed = await served.ask(ListGroupsRequest())

    assert {group.group_id for group in listed.groups} == {MINE, OTHERS}


async def test_a_consumer_group_with_a_hidden_topic_is_not_described(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, _, _):
        served.broker.parts.authorizer = ALLOW_ALL
        for group, topic in ((MINE, OTHERS), ("own", MINE)):
            await served.serve_groups(group)
            if group == MINE:  # a classic one so far
                await served.ask(DeleteGroupsRequest([group]))
            joined = await served.ask(joining(1, group_id=group, subscribed_topic_names=[topic]), 1)
            assert joined.error_code == 0
        served.broker.parts.authorizer = allow_only(MINE, "own")
        request = ConsumerGroupDescribeRequest([MINE, OTHERS, "own"])
        response = await served.ask(request)
        names = {"group_id": "own", "member_id": "b"}
        topics = [MINE, OTHERS]
        denied = await served.ask(joining(1, **names, subscribed_topic_names=topics), 1)

    assert [(entry.error_code, len(entry.members)) for entry in response.groups] == [
        (DENIED, 0),
        (NO_GROUP, 0),
        (0, 1),
    ]
    assert denied.error_code == DENIED


async def test_a_subscription_regex_matches_only_topics_that_the_member_may_describe(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, mine, _):
        served.broker.parts.authorizer = allow_only(MINE, "own")
        await served.serve_groups("own")
        names = {"group_id": "own", "subscribed_topic_names": None}
        joined = await served.ask(joining(1, **names, subscribed_topic_regex=".*"), 1)
        assert joined.error_code == 0
        assigned = None
        while not assigned:
            await trio.sleep(1)
            beat = ConsumerGroupHeartbeatRequest("own", joined.member_id, joined.member_epoch)
            joined = await served.ask(beat, 1)
            assert joined.error_code == 0
            assigned = joined.assignment and joined.assignment.topic_partitions

    assert [partitions.topic_id for partitions in assigned] == [mine]


async def test_topics_are_authorized_one_by_one_in_create_grow_and_delete(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, mine, others):
        new = [k19.CreatableTopic(name, 1, 1) for name in ("b", "a", "a")]
        served.broker.parts.authorizer = allow_only(MINE, "b")
        creation = await served.ask(k19.CreateTopicsRequest(new))
        more = [k37.CreatePartitionsTopic(name, 3, None) for name in (OTHERS, MINE)]
        grown = await served.ask(k37.CreatePartitionsRequest(more, 1000))
        named = k20.DeleteTopicsRequest(topic_names=["none", OTHERS, "b"], timeout_ms=1000)
        gone = await served.ask(named, 5)
        ids = [k20.DeleteTopicState(topic_id=topic_id) for topic_id in (others, mine)]
        by_id = await served.ask(k20.DeleteTopicsRequest(topics=ids, timeout_ms=1000))
        topics = set(served.broker.metadata.image.topics)

    assert {topic.name: topic.error_code for topic in creation.topics} == {"b": 0, "a": 42}
    assert [result.error_code for result in grown.results] == [DENIED, 0]
    assert [response.error_code for response in gone.responses] == [DENIED, DENIED, 0]
    assert [(response.name, response.error_code) for response in by_id.responses] == [
        (None, DENIED),
        (MINE, 0),
    ]
    assert {MINE, OTHERS} & topics == {OTHERS}


async def test_delete_topics_does_not_reveal_that_a_hidden_name_and_id_are_the_same_topic(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, _, others):
        both = [k20.DeleteTopicState(OTHERS), k20.DeleteTopicState(topic_id=others)]
        hidden = await served.ask(k20.DeleteTopicsRequest(topics=both, timeout_ms=1000))
        served.broker.parts.authorizer = RuleAuthorizer(
            lambda operation, _: operation is Operation.DESCRIBE
        )
        seen = await served.ask(k20.DeleteTopicsRequest(topics=both, timeout_ms=1000))

    assert [(response.name, response.error_code) for response in hidden.responses] == [
        (OTHERS, DENIED),
        (None, DENIED),
    ]
    assert [(response.name, response.error_code) for response in seen.responses] == [
        (OTHERS, DENIED)
    ] * 2


async def test_a_topic_is_deleted_by_id_without_the_permission_to_describe_it(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, _, others):
        served.broker.parts.authorizer = RuleAuthorizer(
            lambda operation, resource: operation is Operation.DELETE and resource.name == OTHERS
        )
        both = [k20.DeleteTopicState(OTHERS), k20.DeleteTopicState(topic_id=others)]
        gone = await served.ask(k20.DeleteTopicsRequest(topics=both, timeout_ms=1000))

    assert [(response.name, response.error_code) for response in gone.responses] == [
        (OTHERS, DENIED),
        (OTHERS, 0),
    ]


async def test_settings_of_a_new_topic_are_returned_only_with_permission_to_describe_them(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        served.broker.parts.authorizer = RuleAuthorizer(
            lambda operation, _: operation is Operation.CREATE
        )
        response = await served.ask(k19.CreateTopicsRequest([k19.CreatableTopic(MINE, 3, 1)]))
        served.broker.parts.authorizer = ALLOW_ALL

    (topic,) = response.topics
    assert (topic.error_code, topic.topic_config_error_code) == (0, DENIED)
    assert (topic.num_partitions, topic.replication_factor, topic.configs) == (-1, -1, [])


async def test_settings_are_described_and_changed_only_for_authorized_resources(
    autojump_clock: MockClock,
) -> None:
    topic, group = ConfigResourceType.TOPIC, ConfigResourceType.GROUP
    resources = [(topic, OTHERS), (topic, MINE), (group, OTHERS), (ConfigResourceType.BROKER, "1")]
    async with two_topics() as (served, _, _):
        descriptions = await served.ask(
            k32.DescribeConfigsRequest(
                [k32.DescribeConfigsResource(*resource) for resource in resources]
            )
        )
        change = k44.AlterableConfig("retention.ms", 0, "7")
        changed = await served.ask(
            k44.IncrementalAlterConfigsRequest(
                [k44.AlterConfigsResource(*resource, [change]) for resource in resources[:2]]
            )
        )
        configs = set(served.broker.metadata.image.configs)

    assert [(result.error_code, bool(result.configs)) for result in descriptions.results] == [
        (DENIED, False),
        (0, True),
        (NO_GROUP, False),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, False),
    ]
    assert [response.error_code for response in changed.responses] == [DENIED, 0]
    assert (topic, MINE) in configs
    assert (topic, OTHERS) not in configs


async def test_the_authorizer_receives_principal_and_client_address(
    autojump_clock: MockClock,
) -> None:
    async with two_topics() as (served, _, _):
        rule = allow_only(MINE)
        served.broker.parts.authorizer = rule
        who = Principal("User", "alice")
        ask = served.broker.parts.in_process.ask
        await ask(metadata(MINE), principal=who, peer=Endpoint("10.0.0.9", 5))
        await served.ask(metadata(MINE))

    assert rule.principals == {
        (who, "10.0.0.9"),
        (Principal("User", "ANONYMOUS"), "127.0.0.1"),
    }
