"""Vote (key 52): a candidate of the metadata quorum asks for votes."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.cluster import NodeEndpoint


@struct
class PartitionData:
    partition_index: int = int32()
    replica_epoch: int = int32()
    replica_id: int = int32()
    replica_directory_id: bytes = uuid("1+", ignorable=True)
    voter_directory_id: bytes = uuid("1+", ignorable=True)
    last_offset_epoch: int = int32()
    last_offset: int = int64()
    pre_vote: bool = boolean("2+")


@struct
class TopicData:
    topic_name: str = string(cached=True)
    partitions: list[PartitionData] = array(PartitionData)


@request(key=52, versions="0-2", flexible="0+")
class VoteRequest:
    """Candidate, epoch and the end of its log."""

    response: ClassVar[type["VoteResponse"]]

    cluster_id: str | None = string(nullable="0+", default=None)
    voter_id: int = int32("1+", default=-1, ignorable=True)
    topics: list[TopicData] = array(TopicData)


@struct
class PartitionResult:
    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    leader_epoch: int = int32()
    vote_granted: bool = boolean()


@struct
class TopicResult:
    topic_name: str = string(cached=True)
    partitions: list[PartitionResult] = array(PartitionResult)


@response(VoteRequest)
class VoteResponse:
    """Vote granted or refused."""

    error_code: int = int16()
    topics: list[TopicResult] = array(TopicResult)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "1+", tag=0)
