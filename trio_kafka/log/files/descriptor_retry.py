"""What needs a descriptor for a moment waits until there is one.

A process without descriptors has no broken disk: small files, names and locks are only late, and no
directory goes offline. Who reads or appends is told at once instead (`open_files`), as somebody
waits for the answer.
"""

import errno
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import trio

from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.world.protocols import Directory

T = TypeVar("T")
EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE})
FIRST_WAIT_S: Final = 0.01
LONGEST_WAIT_S: Final = 1.0
_logger: Final = get_logger(__name__)


def is_exhaustion(error: BaseException | None) -> bool:
    """Whether an error, or what a LogDirError came from, says that no descriptor is left."""
    if isinstance(error, LogDirError):
        error = error.__cause__
    if isinstance(error, KafkaError):
        return error.code is ErrorCode.REPLICA_NOT_AVAILABLE
    return isinstance(error, OSError) and error.errno in EXHAUSTED


async def when_free(call: Callable[[], Awaitable[T]]) -> T:
    """The result of `call`, made again until a descriptor is there. Raises what else it raises.

    No deadline: its owner's cancellation ends it.
    """
    wait_s = FIRST_WAIT_S
    while True:
        try:
            return await call()
        except (OSError, KafkaError, LogDirError) as error:
            if not _is_waited_for(error, wait_s):
                raise
        wait_s = await _wait(wait_s)


async def when_free_now(call: Callable[[], T]) -> T:
    """The same for a call that does not wait; no checkpoint follows it, which would lose a file."""
    await trio.lowlevel.checkpoint()
    wait_s = FIRST_WAIT_S
    while True:
        try:
            return call()
        except (OSError, KafkaError, LogDirError) as error:
            if not _is_waited_for(error, wait_s):
                raise
        wait_s = await _wait(wait_s)


async def _wait(seconds: float) -> float:
    """Wait so long; how long the next time."""
    await trio.sleep(seconds)
    return min(2 * seconds, LONGEST_WAIT_S)


def _is_waited_for(error: Exception, wait_s: float) -> bool:
    """Whether it will pass; the first wait is told."""
    if not is_exhaustion(error):
        return False
    if wait_s == FIRST_WAIT_S:
        _logger.warning("waiting for a descriptor", reason=str(error))
    return True


async def names_in(directory: Directory) -> list[str]:
    """`Directory.names_slow`, as soon as there is a descriptor."""
    return await when_free(directory.names_slow)


async def sync_names(directory: Directory) -> None:
    """`Directory.sync`, as soon as there is a descriptor."""
    await when_free(directory.sync)
