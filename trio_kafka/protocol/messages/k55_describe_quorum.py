"""DescribeQuorum (key 55): describe the metadata quorum."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.cluster import VoterListener


@struct
class PartitionData:
    partition_index: int = int32()


@struct
class TopicData:
    topic_name: str = string(cached=True)
    partitions: list[PartitionData] = array(PartitionData)


@request(key=55, versions="0-2", flexible="0+")
class DescribeQuorumRequest:
    """Partitions; there is one."""

    response: ClassVar[type["DescribeQuorumResponse"]]

    topics: list[TopicData] = array(TopicData)


@struct
class ReplicaState:
    replica_id: int = int32()
    replica_directory_id: bytes = uuid("2+")
    log_end_offset: int = int64()
    last_fetch_timestamp: int = int64("1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int = int64("1+", default=-1, ignorable=True)


@struct
class PartitionResult:
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string("2+", nullable="2+", ignorable=True)
    leader_id: int = int32()
    leader_epoch: int = int32()
    high_watermark: int = int64()
    current_voters: list[ReplicaState] = array(ReplicaState)
    observers: list[ReplicaState] = array(ReplicaState)


@struct
class TopicResult:
    topic_name: str = string(cached=True)
    partitions: list[PartitionResult] = array(PartitionResult)


@struct
class Node:
    node_id: int = int32()
    listeners: list[VoterListener] = array(VoterListener)


@response(DescribeQuorumRequest)
class DescribeQuorumResponse:
    """Leader, epoch, high watermark, and the progress of voters and observers."""

    error_code: int = int16()
    error_message: str | None = string("2+", nullable="2+", ignorable=True)
    topics: list[TopicResult] = array(TopicResult)
    nodes: list[Node] = array(Node, "2+")
