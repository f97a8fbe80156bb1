"""BeginQuorumEpoch (key 53): announce a new leader of the metadata quorum to its voters."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, string, uuid
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.cluster import NodeEndpoint, VoterListener


@struct
class PartitionData:
    partition_index: int = int32()
    voter_directory_id: bytes = uuid("1+", ignorable=True)
    leader_id: int = int32()
    leader_epoch: int = int32()


@struct
class TopicData:
    topic_name: str = string(cached=True)
    partitions: list[PartitionData] = array(PartitionData)


@request(key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochRequest:
    """The leader and its epoch."""

    response: ClassVar[type["BeginQuorumEpochResponse"]]

    cluster_id: str | None = string(nullable="0+", default=None)
    voter_id: int = int32("1+", default=-1, ignorable=True)
    topics: list[TopicData] = array(TopicData)
    leader_endpoints: list[VoterListener] = array(VoterListener, "1+", ignorable=True)


@struct
class PartitionResult:
    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    leader_epoch: int = int32()


@struct
class TopicResult:
    topic_name: str = string(cached=True)
    partitions: list[PartitionResult] = array(PartitionResult)


@response(BeginQuorumEpochRequest)
class BeginQuorumEpochResponse:
    """Leader and epoch as the voter knows them."""

    error_code: int = int16()
    topics: list[TopicResult] = array(TopicResult)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "1+", tag=0)
