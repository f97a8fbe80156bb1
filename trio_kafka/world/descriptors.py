"""Budget of file descriptors of one process: a reserve, files of logs, connections.

World counts the files, sockets, listeners and selectors that it opens. The reserve is for files
that it does not count, or that are open for a moment: imports, checkpoints, snapshots. Connections
may take all but the reserve and the minimum for files. Files may take all but the reserve; idle
ones are closed when a descriptor is needed. Without a limit nothing is rejected here, only by the
system.
"""

import errno
import os
import sys
from collections.abc import Callable, Mapping
from typing import Final

from attrs import field

from trio_kafka import held
from trio_kafka.attributes import define

RESERVE: Final = 64  # including about 15 that every process has
SMALLEST: Final = 64  # smallest limit of a broker


@define(eq=False)
class Descriptors:
    """Counts of open descriptors. limit: of the process; None: unknown.

    files, sockets, others: open now. others: listeners, selectors and locks.
    leases: on files, held now; closed files with leases count as open.
    ended: the machine has crashed, which closed everything.
    simulated: of a machine that ends with its test, as do its open files, locks and listeners.
    close_idle: closes up to a number of idle files, and returns how many.
    refused: number of rejected openings.
    """

    limit: int | None = None
    simulated: bool = field(default=False, kw_only=True)
    files: int = field(default=0, init=False)
    sockets: int = field(default=0, init=False)
    others: int = field(default=0, init=False)
    leases: int = field(default=0, init=False)
    ended: bool = field(default=False, init=False)
    refused: int = field(default=0, init=False)
    close_idle: Callable[[int], int] = field(default=lambda _: 0, init=False)

    def __attrs_post_init__(self) -> None:
        held.opened(self)

    def still_held(self) -> Mapping[str, int]:
        """See `held.Ledger`."""
        if self.ended:
            return {}
        if self.simulated:
            return {"sockets": self.sockets, "leases": self.leases}
        return self.figures()

    def owned(self) -> Mapping[str, int]:
        """Return what a broker must close before its end. Sockets may be those of clients."""
        if self.ended:
            return {}
        return {"files": self.files, "others": self.others, "leases": self.leases}

    def figures(self) -> Mapping[str, int]:
        """Return what is open now, for the tree."""
        return {
            "files": self.files,
            "sockets": self.sockets,
            "others": self.others,
            "leases": self.leases,
        }

    @property
    def shared(self) -> int:
        """Number of descriptors for files, sockets and others together."""
        limit = self.limit
        if limit is None:
            return sys.maxsize
        return limit - min(RESERVE, max(limit // 2, RESERVE // 2))

    @property
    def least_files(self) -> int:
        """Number of descriptors that connections leave to files."""
        return self.shared // 4

    @property
    def room(self) -> int:
        """Number of descriptors that are free besides the reserve; negative: it is in use."""
        return self.shared - self.files - self.sockets - self.others

    def check_socket(self) -> None:
        """Raise OSError(EMFILE) unless there is room for one more connection.

        Closes idle files, down to their minimum.
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
        """Raise OSError(EMFILE) unless there is room for `count` more of `others`.

        Half is kept for files and connections. Closes idle files.
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
    """Return whether the process or the system has no descriptor left."""
    return error.errno in {errno.EMFILE, errno.ENFILE}
