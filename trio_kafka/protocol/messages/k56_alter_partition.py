"""AlterPartition (key 56): a leader asks the controller for other in-sync replicas."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int8, int16, int32, int64, uuid
from trio_kafka.protocol.schema import request, response, struct


@struct
class BrokerState:
    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)


@struct
class PartitionData:
    partition_index: int = int32()
    leader_epoch: int = int32()
    new_isr: list[int] = array(int32, "0-2")
    new_isr_with_epochs: list[BrokerState] = array(BrokerState, "3+")
    leader_recovery_state: int = int8()
    partition_epoch: int = int32()


@struct
class TopicData:
    topic_id: bytes = uuid(ignorable=True)
    partitions: list[PartitionData] = array(PartitionData)


@request(key=56, versions="2-3", flexible="0+")
class AlterPartitionRequest:
    """The in-sync replicas that the leader wants, with their broker epochs (v3+)."""

    response: ClassVar[type["AlterPartitionResponse"]]

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    topics: list[TopicData] = array(TopicData)


@struct
class PartitionResult:
    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    leader_epoch: int = int32()
    isr: list[int] = array(int32)
    leader_recovery_state: int = int8(ignorable=True)
    partition_epoch: int = int32()


@struct
class TopicResult:
    topic_id: bytes = uuid(ignorable=True)
    partitions: list[PartitionResult] = array(PartitionResult)


@response(AlterPartitionRequest)
class AlterPartitionResponse:
    """The state of each partition as the controller has it."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    topics: list[TopicResult] = array(TopicResult)
