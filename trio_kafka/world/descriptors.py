"""The budget of file descriptors of one process: a reserve, files of logs, connections.

World counts what it opens: files, sockets, listeners and selectors. The reserve is for everything
that it does not count or that opens a file for a moment: imports, names, checkpoints, snapshots.
Connections may take everything but the reserve and the least share of files. Files may take
everything but the reserve; idle ones are closed as soon as something else needs their place.

Without a limit nothing is refused here, and the system's own errors tell that nothing is left.
"""

import errno
import os
import sys
from collections.abc import Callable
from typing import Final

RESERVE: Final = 64  # with what a process has anyway: about 15
SMALLEST: Final = 64  # the least limit of a broker


class Descriptors:
    """limit: of the process; None: unknown.

    files, sockets, others: open now. others: listeners, selectors and locks.
    close_idle: closes up to so many idle files, and returns how many it has closed.
    refused: how many openings found no room.
    """

    __slots__ = ("close_idle", "files", "limit", "others", "refused", "sockets")

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.files = 0
        self.sockets = 0
        self.others = 0
        self.refused = 0
        self.close_idle: Callable[[int], int] = _close_none

    @property
    def shared(self) -> int:
        """How many descriptors files, sockets and others may have together."""
        limit = self.limit
        if limit is None:
            return sys.maxsize
        return limit - min(RESERVE, max(limit // 2, RESERVE // 2))

    @property
    def least_files(self) -> int:
        """How many files may be open whatever connections there are."""
        return self.shared // 4

    @property
    def room(self) -> int:
        """How many more may be opened while the reserve stays intact; negative: it is used."""
        return self.shared - self.files - self.sockets - self.others

    def check_socket(self) -> None:
        """Raise OSError(EMFILE) unless there is room for one more connection.

        Idle files are closed for it, down to their least share.
        """
        if self.limit is None or self._room_for_socket > 0:
            return
        spare = self.files - self.least_files
        if spare > 0:
            self.close_idle(min(spare, 8))
            if self._room_for_socket > 0:
                return
        self._refuse()

    def check_others(self, count: int) -> None:
        """Raise OSError(EMFILE) unless there is room for `count` more selectors or the like.

        Half is for files and connections at least. Idle files are closed.
        """
        if self.limit is None:
            return
        if self.room < count:
            self.close_idle(count - self.room)
        if self.room < count or self.others + count > self.shared // 2:
            self._refuse()

    @property
    def _room_for_socket(self) -> int:
        return self.shared - self.sockets - self.others - max(self.files, self.least_files)

    def _refuse(self) -> None:
        self.refused += 1
        raise OSError(errno.EMFILE, f"{os.strerror(errno.EMFILE)}: the rest is reserved")


def is_exhausted(error: OSError) -> bool:
    """Whether no descriptor is left, of the process or of the system."""
    return error.errno in {errno.EMFILE, errno.ENFILE}


def _close_none(_: int) -> int:
    return 0
