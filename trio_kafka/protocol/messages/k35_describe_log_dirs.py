"""DescribeLogDirs (key 35): describe the log directories of a broker."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, int64, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class DescribableLogDirTopic:
    topic: str = string(cached=True)
    partitions: list[int] = array(int32)


@request(key=35, versions="1-5", flexible="2+")
class DescribeLogDirsRequest:
    """Partitions to look for: null is all."""

    response: ClassVar[type["DescribeLogDirsResponse"]]

    topics: list[DescribableLogDirTopic] | None = array(DescribableLogDirTopic, nullable="0+")


@struct
class DescribeLogDirsPartition:
    partition_index: int = int32()
    partition_size: int = int64()
    offset_lag: int = int64()
    is_future_key: bool = boolean()


@struct
class DescribeLogDirsTopic:
    name: str = string(cached=True)
    partitions: list[DescribeLogDirsPartition] = array(DescribeLogDirsPartition)


@struct
class DescribeLogDirsResult:
    error_code: int = int16()
    log_dir: str = string()
    topics: list[DescribeLogDirsTopic] = array(DescribeLogDirsTopic)
    total_bytes: int = int64("4+", default=-1, ignorable=True)
    usable_bytes: int = int64("4+", default=-1, ignorable=True)
    is_cordoned: bool = boolean("5+", ignorable=True)


@response(DescribeLogDirsRequest)
class DescribeLogDirsResponse:
    """Directories with sizes and replicas."""

    throttle_time_ms: int = int32()
    error_code: int = int16("3+", ignorable=True)
    results: list[DescribeLogDirsResult] = array(DescribeLogDirsResult)
