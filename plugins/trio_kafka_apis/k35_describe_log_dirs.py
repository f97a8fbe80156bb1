"""DescribeLogDirs (key 35): describe the log directories of this broker and the replicas in them.

Waits for the disks to tell their space, at most two seconds each; an unknown space is -1. A
directory that is offline has an error and no replicas. A replica that moves to another directory
is listed twice: in its directory, and as a future replica in the other one, with its lag.
Source: KIP-113, KIP-827, KIP-1066.

Needs DESCRIBE on the cluster.
"""

from functools import partial

from trio_kafka.errors import ErrorCode
from trio_kafka.log.manager.description import DescribedLog, describe_logs, space_of
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k35_describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.requests.rows import Pairs, visit
from trio_kafka.scheduling.loop_budget import in_steps
from trio_kafka.security.operations import Operation
from trio_kafka.world.protocols import Space

Selection = dict[str, set[int]]


@api(DescribeLogDirsRequest)
async def describe_log_dirs(
    request: DescribeLogDirsRequest, context: Context
) -> DescribeLogDirsResponse:
    context.authorize(Operation.DESCRIBE, cluster=True)
    selection: Selection | None = None
    if request.topics is not None:
        selection = {}
        named = Pairs(request.topics, lambda topic: topic.partitions)
        await visit(named, partial(_want, selection))
    response = DescribeLogDirsResponse()
    for path, directory in context[LogManager].by_path().items():
        response.results.append(await _describe(path, directory, selection, context))
    return response


def _want(selection: Selection, named: tuple[DescribableLogDirTopic, int]) -> None:
    topic, number = named
    selection.setdefault(topic.topic, set()).add(number)


async def _describe(
    path: str, directory: LogDirectory | None, selection: Selection | None, context: Context
) -> DescribeLogDirsResult:
    """Describe one directory. None: it could not be opened."""

    def wants(at: TopicPartition) -> bool:
        return selection is None or at.partition in selection.get(at.topic, ())

    broken = DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, path)
    if directory is None or directory.offline:
        return broken
    try:
        space: Space = await space_of(directory)
    except OSError:
        return broken
    logs = await in_steps(describe_logs(context[LogManager], directory, wants))
    by_topic: dict[str, list[DescribedLog]] = {}
    await visit(logs, lambda log: by_topic.setdefault(log.partition.topic, []).append(log))
    return DescribeLogDirsResult(
        log_dir=path,
        topics=rows_of(
            by_topic.items(),
            lambda topic: DescribeLogDirsTopic(topic[0], rows_of(topic[1], _row)),
        ),
        total_bytes=space.total,
        usable_bytes=space.usable,
        is_cordoned=context[LogManager].is_cordoned(directory),
    )


def _row(log: DescribedLog) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(log.partition.partition, log.size, log.lag, log.is_future)
