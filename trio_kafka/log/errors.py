"""Errors of logs by what has failed, so that each caller states which ones it survives.

A log that was closed, a full disk and a lack of descriptors say nothing about the health of a disk.
Any other OSError does: its directory goes offline, as LogDirError.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.world.descriptors import is_exhausted

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class LogClosedError(KafkaError):
    """Raised for a log that was closed: it was deleted, moved, or the broker stops."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.NOT_LEADER_OR_FOLLOWER, message)


class NoDescriptorError(KafkaError):
    """Raised if this process has no free descriptor. The same call may succeed later."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.REPLICA_NOT_AVAILABLE, message)


class DiskFullError(OSError):
    """Raised if a disk has no space, or a user no quota. The same call may succeed later."""


@contextmanager
def typed_errors() -> Iterator[None]:
    """Raise DiskFullError and NoDescriptorError in place of the system's errors in the block.

    What remains an OSError speaks about the disk.
    """
    try:
        yield
    except DiskFullError:
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFullError(error.errno, error.strerror, error.filename) from error
        if is_exhausted(error):
            raise NoDescriptorError(str(error)) from error
        raise
