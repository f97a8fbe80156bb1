"""Which topics, partitions, groups and transactional ids a message names."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.controls.faults.parts import NamedParts, Names, api_name
from trio_kafka.model import TopicId
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from trio_kafka.protocol.messages.k15_describe_groups import DescribeGroupsRequest
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.protocol.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from trio_kafka.protocol.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from trio_kafka.protocol.messages.k43_elect_leaders import ElectLeadersRequest
from trio_kafka.protocol.messages.k43_elect_leaders import TopicPartitions as ElectTopicPartitions
from trio_kafka.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)

ID = TopicId(b"i" * 16)
PARTS = NamedParts(lambda topic_id: "by-id" if topic_id == ID else None)


def produce(*topics: tuple[str, list[int]]) -> ProduceRequest:
    data = [
        TopicProduceData(name, partition_data=list(map(PartitionProduceData, numbers)))
        for name, numbers in topics
    ]
    return ProduceRequest(transactional_id="x", topic_data=data)


@pytest.mark.parametrize(
    ("message", "names"),
    [
        (
            produce(("a", [0, 2]), ("b", [1])),
            [
                Names(topic="a", partition=0, transactional_id="x"),
                Names(topic="a", partition=2, transactional_id="x"),
                Names(topic="b", partition=1, transactional_id="x"),
            ],
        ),
        (
            ProduceRequest(
                topic_data=[TopicProduceData(topic_id=ID, partition_data=[PartitionProduceData(4)])]
            ),
            [Names(topic="by-id", partition=4)],
        ),
        (
            OffsetFetchRequest(
                groups=[
                    OffsetFetchRequestGroup(
                        "g", topics=[OffsetFetchRequestTopics("o", partition_indexes=[4, 5])]
                    ),
                    OffsetFetchRequestGroup("h", topics=None),
                ]
            ),
            [
                Names(topic="o", partition=4, group="g"),
                Names(topic="o", partition=5, group="g"),
                Names(group="h"),
            ],
        ),
        (
            CreateTopicsRequest(
                [CreatableTopic("t", 1, 1, configs=[CreatableTopicConfig("segment.ms", "1")])]
            ),
            [Names(topic="t")],
        ),
        (
            DeleteTopicsRequest(topics=[DeleteTopicState("a"), DeleteTopicState(topic_id=ID)]),
            [Names(topic="a"), Names(topic="by-id")],
        ),
        (DeleteTopicsRequest(topic_names=["a"]), [Names(topic="a")]),
        (
            JoinGroupRequest("g", protocols=[JoinGroupRequestProtocol("range", b"")]),
            [Names(group="g")],
        ),
        (
            ConsumerGroupHeartbeatRequest("g", topic_partitions=[TopicPartitions(ID, [1])]),
            [Names(group="g")],
        ),
        (DescribeGroupsRequest(["g", "h"]), [Names(group="g"), Names(group="h")]),
        (FindCoordinatorRequest("g"), [Names(group="g")]),
        (FindCoordinatorRequest("x", key_type=1), [Names(transactional_id="x")]),
        (
            FindCoordinatorRequest(key_type=1, coordinator_keys=["x"]),
            [Names(transactional_id="x")],
        ),
        (
            DescribeConfigsRequest(
                [
                    DescribeConfigsResource(2, "t"),
                    DescribeConfigsResource(32, "g"),
                    DescribeConfigsResource(4, "1"),
                ]
            ),
            [Names(topic="t"), Names(group="g"), Names()],
        ),
        (
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="x",
                v3_and_below_topics=[AddPartitionsToTxnTopic("t", [0, 1])],
            ),
            [Names(topic="t", partition=n, transactional_id="x") for n in (0, 1)],
        ),
        (
            AddPartitionsToTxnRequest(
                [AddPartitionsToTxnTransaction("x", topics=[AddPartitionsToTxnTopic("t", [2])])]
            ),
            [Names(topic="t", partition=2, transactional_id="x")],
        ),
        (DescribeTransactionsRequest(["x"]), [Names(transactional_id="x")]),
        (AddOffsetsToTxnRequest("x", group_id="g"), [Names(transactional_id="x", group="g")]),
        (
            ElectLeadersRequest(topic_partitions=[ElectTopicPartitions("e", [7])]),
            [Names(topic="e", partition=7)],
        ),
    ],
    ids=lambda message: type(message).__name__,
)
def test_parts_of_a_message_have_its_topics_partitions_and_groups(
    message: Any, names: list[Names]
) -> None:
    assert list(PARTS.below(message)) == names


topics = st.lists(
    st.tuples(st.sampled_from("abc"), st.lists(st.integers(0, 3), min_size=1, max_size=3)),
    min_size=1,
    max_size=4,
)


@given(topics=topics, kept=st.sets(st.tuples(st.sampled_from("abc"), st.integers(0, 3))))
def test_request_splits_into_kept_parts_and_all_other_parts(
    topics: list[tuple[str, list[int]]], kept: set[tuple[str, int]]
) -> None:
    request = produce(*topics)
    everything = list(PARTS.below(request))

    def keep(names: Names) -> bool:
        return (names.topic, names.partition) in kept

    selected, rest = PARTS.only(request, keep), PARTS.only(request, lambda names: not keep(names))

    assert list(PARTS.below(request)) == everything, "the request is unchanged"
    result = [] if selected is None else list(PARTS.below(selected))
    assert result == list(filter(keep, everything))
    others = [] if rest is None else list(PARTS.below(rest))
    assert others == [names for names in everything if not keep(names)]


def test_api_name_is_kafkas_name() -> None:
    assert api_name(ProduceRequest) == "Produce"
