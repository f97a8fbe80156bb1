"""EndQuorumEpoch (key 54): a leader of the metadata quorum resigns."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, string, uuid
from trio_kafka.protocol.messages.k53_begin_quorum_epoch import TopicResult
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.cluster import NodeEndpoint, VoterListener


@struct
class ReplicaInfo:
    candidate_id: int = int32()
    candidate_directory_id: bytes = uuid()


@struct
class PartitionData:
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32()
    preferred_successors: list[int] = array(int32, "0", ignorable=True)
    preferred_candidates: list[ReplicaInfo] = array(ReplicaInfo, "1+", ignorable=True)


@struct
class TopicData:
    topic_name: str = string(cached=True)
    partitions: list[PartitionData] = array(PartitionData)


@request(key=54, versions="0-1", flexible="1+")
class EndQuorumEpochRequest:
    """The leader, its epoch, and its preferred successors, best first."""

    response: ClassVar[type["EndQuorumEpochResponse"]]

    cluster_id: str | None = string(nullable="0+", default=None)
    topics: list[TopicData] = array(TopicData)
    leader_endpoints: list[VoterListener] = array(VoterListener, "1+", ignorable=True)


@response(EndQuorumEpochRequest)
class EndQuorumEpochResponse:
    """Leader and epoch as the voter knows them."""

    error_code: int = int16()
    topics: list[TopicResult] = array(TopicResult)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "1+", tag=0)
