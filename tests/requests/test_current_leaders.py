"""Leaders that a response names."""

import pytest

from tests.metadata.test_endpoints import broker
from tests.requests.test_context import Peer
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.image import MetadataImage, PartitionState, TopicImage
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.model import NodeId, TopicId
from trio_kafka.protocol.messages.k00_produce import PartitionProduceResponse
from trio_kafka.protocol.messages.k01_fetch import PartitionData
from trio_kafka.protocol.structs.leaders import LeaderIdAndEpoch, NodeEndpoint
from trio_kafka.requests.context import Context
from trio_kafka.requests.current_leaders import PartitionRow, leader_endpoints, name_leader
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.registry import Registry
from trio_kafka.testing.planes import bare_request

TWO, TOPIC_ID = NodeId(2), TopicId(b"sixteen bytes id")
STATE = PartitionState(replicas=(TWO,), isr=(TWO,), leader=TWO, leader_epoch=7)
IMAGE = MetadataImage(
    topics=ImmutableMap({"t": TopicImage(name="t", id=TOPIC_ID, partitions={0: STATE})}),
    topic_names=ImmutableMap({TOPIC_ID: "t"}),
    brokers={TWO: broker(TWO, "CLIENTS")},
)
NAMED = (LeaderIdAndEpoch(2, 7), [NodeEndpoint(2, "h2", 20, "r2")])
NOT_NAMED = (LeaderIdAndEpoch(-1, -1), [])


def named(row: PartitionRow, at: tuple[TopicId | str, int]) -> object:
    """Return the leader of the row, and the addresses of named leaders."""
    request = bare_request(7, Peer())
    parts = Parts(apis=Registry(), cluster_id="c")
    parts.metadata = MetadataCache(IMAGE)
    context, leaders = Context(request, parts, request.version), set[NodeId]()
    name_leader(row, context, at, leaders)
    return row.current_leader, leader_endpoints(context, leaders)


@pytest.mark.parametrize("topic", ["t", TOPIC_ID])
@pytest.mark.parametrize("row", [PartitionProduceResponse, PartitionData])
def test_leader_of_a_partition_led_elsewhere_is_named_by_name_and_by_id(
    row: type[PartitionProduceResponse | PartitionData], topic: TopicId | str
) -> None:
    for code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
        assert named(row(0, code), (topic, 0)) == NAMED


def test_no_leader_is_named_for_other_errors_and_unknown_partitions() -> None:
    moved = ErrorCode.NOT_LEADER_OR_FOLLOWER

    assert named(PartitionData(0, ErrorCode.KAFKA_STORAGE_ERROR), ("t", 0)) == NOT_NAMED
    assert named(PartitionData(0), ("t", 0)) == NOT_NAMED
    assert named(PartitionData(1, moved), ("t", 1)) == NOT_NAMED
    assert named(PartitionData(0, moved), ("u", 0)) == NOT_NAMED
