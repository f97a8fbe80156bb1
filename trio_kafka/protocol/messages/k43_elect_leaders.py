"""ElectLeaders (key 43): elect leaders of partitions."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int8, int16, int32, request, response, string, struct


@struct
class TopicPartitions:
    topic: str = string(cached=True)
    partitions: list[int] = array(int32)


@request(key=43, versions="0-2", flexible="2+")
class ElectLeadersRequest:
    """The kind of election (v1+), and partitions: null is all."""

    response: ClassVar[type["ElectLeadersResponse"]]

    election_type: int = int8("1+")
    topic_partitions: list[TopicPartitions] | None = array(TopicPartitions, nullable="0+")
    timeout_ms: int = int32(default=60000)


@struct
class PartitionResult:
    partition_id: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@struct
class ReplicaElectionResult:
    topic: str = string(cached=True)
    partition_result: list[PartitionResult] = array(PartitionResult)


@response(ElectLeadersRequest)
class ElectLeadersResponse:
    """An error for each partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16("1+")
    replica_election_results: list[ReplicaElectionResult] = array(ReplicaElectionResult)
