"""CreatePartitions (key 37): give topics more partitions."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class CreatePartitionsAssignment:
    broker_ids: list[int] = array(int32)


@struct
class CreatePartitionsTopic:
    name: str = string(cached=True)
    count: int = int32()
    assignments: list[CreatePartitionsAssignment] | None = array(
        CreatePartitionsAssignment, nullable="0+"
    )


@request(key=37, versions="0-3", flexible="2+")
class CreatePartitionsRequest:
    """The new number of partitions of each topic, with assignments or null."""

    response: ClassVar[type["CreatePartitionsResponse"]]

    topics: list[CreatePartitionsTopic] = array(CreatePartitionsTopic)
    timeout_ms: int = int32()
    validate_only: bool = boolean()


@struct
class CreatePartitionsTopicResult:
    name: str = string(cached=True)
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@response(CreatePartitionsRequest)
class CreatePartitionsResponse:
    """An error for each topic."""

    throttle_time_ms: int = int32()
    results: list[CreatePartitionsTopicResult] = array(CreatePartitionsTopicResult)
