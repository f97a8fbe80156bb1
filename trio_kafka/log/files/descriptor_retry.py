"""Retries of calls that need a free descriptor for a moment.

A process without free descriptors has no broken disk: small files, names and locks are only late,
    and no directory goes offline. Reads and appends are not retried here (`open_files`): a client
    waits for their answer.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import trio

from trio_kafka.errors import LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.errors import NoDescriptorError
from trio_kafka.world.descriptors import is_exhausted
from trio_kafka.world.protocols import Directory

T = TypeVar("T")
FIRST_WAIT_S: Final = 0.01
LONGEST_WAIT_S: Final = 1.0
_logger: Final = get_logger(__name__)


def is_exhaustion(error: BaseException | None) -> bool:
    """Return whether an error, or the cause of a LogDirError, is a lack of descriptors."""
    if isinstance(error, LogDirError):
        error = error.__cause__
    if isinstance(error, OSError):
        return is_exhausted(error)
    return isinstance(error, NoDescriptorError)


async def when_free(call: Callable[[], Awaitable[T]]) -> T:
    """Await `call` until a descriptor is free, and return its result. Raises its other errors.

    No deadline: cancellation ends it.
    """
    wait_s = FIRST_WAIT_S
    while True:
        try:
            return await call()
        except (OSError, NoDescriptorError, LogDirError) as error:
            if not is_exhaustion(error):
                raise
            if wait_s == FIRST_WAIT_S:
                _logger.warning("waiting for a descriptor", reason=str(error))
        await trio.sleep(wait_s)
        wait_s = min(2 * wait_s, LONGEST_WAIT_S)


async def when_free_now(call: Callable[[], T]) -> T:
    """Make a synchronous call until a descriptor is free, and return its result.

    No checkpoint follows the call: a cancellation there would lose a file.
    """
    await trio.lowlevel.checkpoint()

    async def attempt() -> T:
        return call()

    return await when_free(attempt)


async def names_in(directory: Directory) -> list[str]:
    """Return `Directory.names_slow` as soon as a descriptor is free."""
    return await when_free(directory.names_slow)


async def sync_names(directory: Directory) -> None:
    """Await `Directory.sync` as soon as a descriptor is free."""
    await when_free(directory.sync)
