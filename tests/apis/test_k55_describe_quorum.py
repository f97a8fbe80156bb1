"""DescribeQuorum: the metadata log of one node."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import NOW_MS, broker, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k55_describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)

LOG = "__cluster_metadata"


def request(topic: str, *partitions: int) -> DescribeQuorumRequest:
    return DescribeQuorumRequest([TopicData(topic, [PartitionData(n) for n in partitions])])


@pytest.mark.parametrize("version", stable(DescribeQuorumRequest))
async def test_leader_and_progress_of_the_quorum_are_described(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        answer = await served.ask(request(LOG, 0), version)
        raft = served.broker.parts.raft
        end, directory = raft.next_offset, raft.voters.voters[0].directory_id

    (part,) = answer.topics[0].partitions
    (voter,) = part.current_voters
    assert (answer.error_code, part.error_code, part.leader_id, part.observers) == (0, 0, 1, [])
    assert part.leader_epoch >= 1
    assert (part.high_watermark, voter.log_end_offset, voter.replica_id) == (end, end, 1)
    if version >= 1:
        assert voter.last_fetch_timestamp == voter.last_caught_up_timestamp >= NOW_MS
    if version >= 2:
        assert voter.replica_directory_id == directory != bytes(16)
        assert [node.node_id for node in answer.nodes] == [1]


@pytest.mark.parametrize(("topic", "number"), [(LOG, 1), ("t", 0), ("", 0)])
async def test_other_partitions_have_no_quorum(
    autojump_clock: MockClock, topic: str, number: int
) -> None:
    async with broker() as served:
        answer = await served.ask(request(topic, number), 2)

    (part,) = answer.topics[0].partitions
    assert (part.partition_index, part.error_code) == (
        number,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
