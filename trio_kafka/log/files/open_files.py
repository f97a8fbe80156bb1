"""Budget of open files: opened on demand, the least recently used one closed.

A file with writes that are not durable belongs to its segment or index. Every other open file of a
sealed segment is kept here, keyed by its owner. It may be closed whenever another one is opened, so
an owner asks for it again after each wait. A leased file is never closed, as a later truncation
must find the leases that it cuts. Thus more files may be open than the budget allows, until a later
opening finds them idle.
A growing segment keeps its file and registers it here. When the process runs out of descriptors
(`world.descriptors`), the segment gives up a fully durable file and opens it again for the next
append or read. `run` syncs some of the others in time, so that there are always files to give up. A
file with dirty bytes is not closed, as a later write error of the kernel could be lost.
A process without free descriptors has no broken disk, so its directories stay online. Idle files
are closed and the call is made once more. If it fails again the client gets REPLICA_NOT_AVAILABLE
and retries. KAFKA_STORAGE_ERROR would mean to clients and followers that the directory is lost.
"""

from collections import OrderedDict
from typing import Final, NoReturn, Protocol

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.log.errors import NoDescriptorError
from trio_kafka.log.files.operations import CreateFile, FileWork, OpenFile, run_now
from trio_kafka.world.descriptors import Descriptors, is_exhausted
from trio_kafka.world.protocols import Buffer, Directory, File

SMALLEST: Final = 128
_LOOKS: Final = 64  # bounds what one opening costs when many files are leased
_AHEAD: Final = 16  # descriptors that `run` keeps free
_AT_ONCE: Final = 4  # files that it syncs at a time
_AGAIN_S: Final = 0.1  # pause when all files are in use
_logger: Final = get_logger(__name__)


class Growing(Protocol):
    """A growing segment with an open file."""

    def used(self) -> bool:
        """Return whether the segment has grown since the last call."""

    def give_up(self) -> bool:
        """Close the file. False: it has bytes that are not durable, or is being read."""

    async def sync_file(self) -> None:
        """Make the batches durable. OSError."""


def budget_of(descriptors: int) -> int:
    """Return how many files may be open in a process with this limit of descriptors."""
    return max(SMALLEST, descriptors // 2)


@define(eq=False)
class OpenFiles:
    """Open files of all logs. budget: for those of sealed segments. evicted: number of files closed
    so far.
    """

    budget: int = SMALLEST
    _descriptors: Descriptors = field(factory=Descriptors)
    evicted: int = field(default=0, init=False)
    given_up: int = field(default=0, init=False)
    may_use_reserve: bool = field(default=False, init=False)  # when the broker stops
    # Roughly ordered by use, the most recent last.
    _growing: OrderedDict[Growing, None] = field(factory=OrderedDict, init=False)
    _bell: trio.Event = field(factory=trio.Event, init=False)
    # The most recently used is last.
    _files: OrderedDict[object, File] = field(factory=OrderedDict, init=False)

    def __attrs_post_init__(self) -> None:
        self._descriptors.close_idle = self.close_idle

    def figures(self) -> Figures:
        """Return figures for the tree."""
        return {
            "open": len(self._files),
            "budget": self.budget,
            "evicted": self.evicted,
            "growing": len(self._growing),
            "given_up": self.given_up,
            "room": self._descriptors.room,
        }

    def grows(self, segment: Growing) -> None:
        """Register the open file of a growing segment."""
        segment.used()  # count growth from now on
        self._growing[segment] = None

    def grows_no_more(self, segment: Growing) -> None:
        """Remove a segment that was sealed or has closed its file. Idempotent."""
        self._growing.pop(segment, None)

    def close_idle(self, count: int) -> int:
        """Close up to `count` idle files. Return their number."""
        before = self.evicted + self.given_up
        if len(self._files) > len(self._growing) // 4:
            self._evict(count)
        remaining = count - (self.evicted + self.given_up - before)
        remaining -= self._give_up(remaining)
        if remaining > 0:
            self._evict(remaining)
        closed = self.evicted + self.given_up - before
        if closed < count:
            self._bell.set()
        return closed

    def _give_up(self, count: int) -> int:
        """Close up to `count` files of growing segments, those without recent appends first."""
        closed = 0
        for idle in (True, False):
            for _ in range(min(len(self._growing), _LOOKS)):
                if closed >= count:
                    break
                segment = next(iter(self._growing))
                if not (idle and segment.used()) and segment.give_up():
                    del self._growing[segment]
                    closed += 1
                else:
                    self._growing.move_to_end(segment)
        self.given_up += closed
        return closed

    @waits_for_work("more open files than are allowed")
    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Sync growing segments while descriptors are scarce, so that their files can be closed."""
        task_status.started()
        while True:
            await self._bell.wait()
            self._bell = trio.Event()
            while self._descriptors.room < _AHEAD and self._growing:
                if not await self._sync_some():
                    await trio.sleep(_AGAIN_S)

    async def _sync_some(self) -> bool:
        """Sync some growing segments. Return whether any file was closed."""
        segments = [segment for segment, _ in zip(self._growing, range(_AT_ONCE), strict=False)]
        async with trio.open_nursery() as nursery:
            for segment in segments:
                self._growing.move_to_end(segment)
                nursery.start_soon(_sync, segment, name="open-files-sync")
        closed = 0
        for segment in segments:
            if segment in self._growing and segment.give_up():
                del self._growing[segment]
                closed += 1
        self.given_up += closed
        return closed > 0

    def get(self, owner: object, directory: Directory, name: str) -> File:
        """Return the file of `owner`, opened if necessary. O(1). Errors as `open`."""
        file = self._files.get(owner)
        if file is None:
            file = self.open(directory, name)
            self.keep(owner, file)
        else:
            self._files.move_to_end(owner)
        return file

    def keep(self, owner: object, file: File) -> None:
        """Take over an open file without dirty bytes."""
        # Evict first: if all others are leased the new file would be the one to go.
        self._evict(len(self._files) + 1 - self.budget)
        self._files[owner] = file

    def take(self, owner: object) -> File | None:
        """Return the open file of `owner` and forget it; None: it is closed."""
        return self._files.pop(owner, None)

    def close(self, owner: object) -> None:
        """Close the file of `owner`, if it is open."""
        file = self._files.pop(owner, None)
        if file is not None:
            file.close()

    def close_all(self) -> None:
        """Close all files."""
        while self._files:
            self._files.popitem()[1].close()

    def open(self, directory: Directory, name: str) -> File:
        """Open a file for the caller, outside of the budget.

        Raises OSError, NoDescriptorError.
        """
        return run_now(self._obtain(OpenFile(directory, name)))

    def create(
        self,
        directory: Directory,
        name: str,
        content: Buffer = b"",
        *,
        replace: bool = False,
        reserve: int = 0,
    ) -> FileWork[File]:
        """Create a file with this content. Errors as `open`; then there is no new file.

        replace: also if the name exists. reserve: see `File.reserve`.
        """
        file: File = yield from self._obtain(CreateFile(directory, name, content, replace))
        if reserve:
            try:
                file.reserve(reserve)
            except OSError:
                file.close()
                raise
        return file

    def _obtain(self, operation: OpenFile | CreateFile) -> FileWork[File]:
        name = operation.name
        self._make_room(name)
        file: File
        try:
            file = yield operation
        except OSError as error:
            if not is_exhausted(error):
                raise
        else:
            return file
        self.close_idle(_LOOKS)  # more than one: other tasks wait for descriptors too
        try:
            file = yield operation
        except OSError as error:
            if not is_exhausted(error):
                raise
            raise self._exhausted(name, str(error.strerror)) from error
        return file

    def _make_room(self, name: str) -> None:
        """Close idle files if one more would use the reserve. NoDescriptorError."""
        descriptors = self._descriptors
        if descriptors.limit is None or self.may_use_reserve:
            return
        room = descriptors.room
        if room < _AHEAD:
            self._bell.set()
        if (
            room <= 0
            and not self.close_idle(1 - room)
            and descriptors.files >= (descriptors.least_files)
        ):
            raise self._exhausted(name, "the rest of the descriptors is reserved")

    def _exhausted(self, name: str, reason: str) -> NoDescriptorError:
        open_now = len(self._files) + len(self._growing)
        return NoDescriptorError(f"{name}: {reason}, {open_now} files of logs are open")

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


async def _sync(segment: Growing) -> None:
    """Sync a segment. The next append or sync of its log reports an error, as the file stays
    broken.
    """
    try:
        await segment.sync_file()
    except (OSError, NoDescriptorError) as error:
        _logger.warning("segment not synced", reason=str(error))
