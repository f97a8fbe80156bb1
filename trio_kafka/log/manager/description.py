"""Description of log directories: their space, and the logs in them with size and lag.

Source: KIP-113, KIP-827.
"""

from collections.abc import Callable
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.model import TopicPartition
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.world.protocols import Space

UNKNOWN_SPACE: Final = Space(-1, -1)
NO_LAG: Final = -1
LONGEST_S: Final = 2.0  # a disk that does not answer in time has an unknown space
_A_STEP: Final = 100  # logs that are described at a time
_logger: Final = get_logger(__name__)


@frozen(kw_only=True)
class DescribedLog:
    """A log in a directory. lag: offsets behind the high watermark, or behind the current log."""

    partition: TopicPartition
    size: int
    lag: int
    is_future: bool


async def space_of(directory: LogDirectory) -> Space:
    """Return the space of a directory's file system. Raises OSError.

    UNKNOWN_SPACE if the disk does not answer within LONGEST_S.
    """
    with trio.move_on_after(LONGEST_S):
        return await directory.root.space()
    _logger.warning("disk space not read in time", path=directory.path, after_s=LONGEST_S)
    return UNKNOWN_SPACE


def describe_logs(
    logs: LogManager, directory: LogDirectory, wants: Callable[[TopicPartition], bool]
) -> Steps[list[DescribedLog]]:
    """Describe the logs of a directory that are wanted, in steps."""
    rows: list[DescribedLog] = []
    for number, log in enumerate(directory.all_logs, 1):
        if not number % _A_STEP:
            yield
        if wants(log.partition) and not log.closed:
            is_future = directory.futures.get(log.partition) is log
            rows.append(
                DescribedLog(
                    partition=log.partition,
                    size=log.size,
                    lag=_lag(logs.get(log.partition), log, is_future=is_future),
                    is_future=is_future,
                )
            )
    return rows


def _lag(current: Log | None, log: Log, *, is_future: bool) -> int:
    if current is None:
        return NO_LAG
    return max((current.end_offset if is_future else current.high_watermark) - log.end_offset, 0)
