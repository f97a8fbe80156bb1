"""DescribeQuorum (key 55): describe the quorum of the metadata log, its leader and its progress.

Never waits. There is one partition, `__cluster_metadata-0`; every other one is unknown. A leader is
caught up by itself, so both of its times are now. Observers are none: this broker votes itself.
Source: KIP-595, KIP-836, KIP-853.

Needs DESCRIBE on the cluster.
"""

from typing import Final

from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k55_describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Node,
    PartitionData,
    PartitionResult,
    ReplicaState,
    TopicData,
    TopicResult,
)
from trio_kafka.protocol.structs.cluster import VoterListener
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.raft.format import METADATA_PARTITION
from trio_kafka.raft.voters import NO_DIRECTORY
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.security.operations import Operation

_IDS_SINCE: Final = 2  # of directories, and listeners of the voters
_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_NO_LEADER: Final = ErrorCode.NOT_LEADER_OR_FOLLOWER


@api(DescribeQuorumRequest)
def describe_quorum(request: DescribeQuorumRequest, context: Context) -> DescribeQuorumResponse:
    context.authorize(Operation.DESCRIBE, cluster=True)
    raft = context[RaftDriver]

    def topic(data: TopicData) -> TopicResult:
        name = data.topic_name
        parts = rows_of(data.partitions, lambda part: _partition(name, part, raft, context))
        return TopicResult(topic_name=name, partitions=parts)

    response = DescribeQuorumResponse(
        error_message="", topics=rows_of(request.topics, topic), nodes=[]
    )
    if context.version >= _IDS_SINCE:
        response.nodes = [
            Node(voter.id, [VoterListener(at.name, at.host, at.port) for at in voter.endpoints])
            for voter in raft.voters.voters
        ]
    return response


def _partition(
    topic: str, part: PartitionData, raft: RaftDriver, context: Context
) -> PartitionResult:
    number = part.partition_index
    if (topic, number) != (METADATA_PARTITION.topic, METADATA_PARTITION.partition):
        return PartitionResult(
            partition_index=number, error_code=_UNKNOWN, error_message="no partition of a quorum"
        )
    if raft.epoch < 0:
        return PartitionResult(
            partition_index=number, error_code=_NO_LEADER, error_message="no leader at the moment"
        )
    now_ms, has_ids = raft.now_ms(), context.version >= _IDS_SINCE
    return PartitionResult(
        partition_index=number,
        error_message="",
        leader_id=context.node_id,
        leader_epoch=raft.epoch,
        high_watermark=raft.committed_offset,
        current_voters=[
            ReplicaState(
                replica_id=voter.id,
                replica_directory_id=voter.directory_id if has_ids else NO_DIRECTORY,
                log_end_offset=raft.next_offset,
                last_fetch_timestamp=now_ms,
                last_caught_up_timestamp=now_ms,
            )
            for voter in raft.voters.voters
        ],
    )
