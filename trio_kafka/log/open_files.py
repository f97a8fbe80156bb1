"""The budget of open files: sealed segments' are opened on demand, the least recently used closed.

A file belongs to its segment or index while it has writes that are not durable; the active
segment's always does. Neither is counted here: the other half of the process's descriptors is for
them, for connections and for small files. Every other open file is kept here, under the object that
reads it. It may be closed whenever another one is opened: whoever has waited asks for it again. A
leased file is never closed, as a later truncation must find the leases that it cuts; so there may
be more open files than the budget says, until a later opening finds them idle.

A process without descriptors has no broken disk: its directories stay online. Files are closed and
the call is made once more; then the caller gets REPLICA_NOT_AVAILABLE, which clients repeat.
KAFKA_STORAGE_ERROR would tell them, and followers, that the directory is gone.
"""

import errno
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Figures
from trio_kafka.world.protocols import Buffer, Directory, File

SMALLEST: Final = 128
_LOOKS: Final = 64  # leased files are passed over: this bounds what one opening costs
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE})


def budget_of(descriptors: int) -> int:
    """How many files may be open in a process that may have so many descriptors."""
    return max(SMALLEST, descriptors // 2)


class OpenFiles:
    """budget: how many; evicted: how many were closed for others so far."""

    __slots__ = ("_files", "budget", "evicted")

    def __init__(self, budget: int = SMALLEST) -> None:
        self.budget = budget
        self.evicted = 0
        self._files: OrderedDict[object, File] = OrderedDict()  # the most recently used is last

    def figures(self) -> Figures:
        """For the tree."""
        return {"open": len(self._files), "budget": self.budget, "evicted": self.evicted}

    def get(self, owner: object, directory: Directory, name: str) -> File:
        """The file of `owner`, opened if it must be. O(1). OSError, KafkaError as `open`."""
        file = self._files.get(owner)
        if file is None:
            file = self.open(directory, name)
            self.keep(owner, file)
        else:
            self._files.move_to_end(owner)
        return file

    def keep(self, owner: object, file: File) -> None:
        """Take over an open file without writes that are not durable."""
        # Before it is there: where all others are leased it would be the one to go.
        self._evict(len(self._files) + 1 - self.budget)
        self._files[owner] = file

    def take(self, owner: object) -> File | None:
        """Give the file of `owner` back to it, if it is open."""
        return self._files.pop(owner, None)

    def close(self, owner: object) -> None:
        """Close the file of `owner`, if it is open."""
        file = self._files.pop(owner, None)
        if file is not None:
            file.close()

    def close_all(self) -> None:
        """Close whatever is open."""
        while self._files:
            self._files.popitem()[1].close()

    def open(self, directory: Directory, name: str) -> File:
        """A file that is the caller's, uncounted.

        OSError; KafkaError(REPLICA_NOT_AVAILABLE) where no descriptor is left.
        """
        return self._obtain(directory.open, name)

    def create(self, directory: Directory, name: str, *, reserve: int = 0) -> File:
        """As `open`, a new file. Where no descriptor is left there is none. reserve: see
        `File.reserve`.
        """
        return _reserved(self._obtain(directory.create, name), reserve)

    async def create_slow(
        self,
        directory: Directory,
        name: str,
        content: Buffer = b"",
        *,
        replace: bool = False,
        reserve: int = 0,
    ) -> File:
        """As `create` with this content, in a thread; see `Directory.create_slow`."""
        return _reserved(await self._create_slow(directory, name, content, replace), reserve)

    async def _create_slow(
        self, directory: Directory, name: str, content: Buffer, replace: bool
    ) -> File:
        try:
            return await directory.create_slow(name, content, replace=replace)
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
        self._evict(_LOOKS)
        try:
            return await directory.create_slow(name, content, replace=replace)
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
            raise self._exhausted(name, error) from error

    def _obtain(self, call: Callable[[str], File], name: str) -> File:
        try:
            return call(name)
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
        self._evict(_LOOKS)  # more than the one that is wanted: others wait for descriptors too
        try:
            return call(name)
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
            raise self._exhausted(name, error) from error

    def _exhausted(self, name: str, error: OSError) -> KafkaError:
        found = f"{name}: {error.strerror}, {len(self._files)} files of logs are open"
        return KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE, found)

    def _evict(self, count: int) -> None:
        """Close up to `count` files, the least recently used first."""
        for _ in range(min(len(self._files), _LOOKS)):
            if count <= 0:
                return
            owner, file = self._files.popitem(last=False)
            if file.leased:
                self._files[owner] = file  # in use now: the most recent
                continue
            file.close()
            self.evicted += 1
            count -= 1


def _reserved(file: File, size: int) -> File:
    """A new file, of that length at once. OSError: it is closed."""
    if size:
        try:
            file.reserve(size)
        except OSError:
            file.close()
            raise
    return file
