"""File operations as generators: written once, run at once or in threads.

A generator yields an operation and is sent its result. `run_now` performs each operation in the
loop; a read that would wait for the disk raises BlockingIOError. `run_in_threads` performs the
same operations in threads, `run_in_steps` in a worker process. Each one throws the error of an
operation into the generator.
"""

import errno
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import trio

from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.world.protocols import Buffer, Directory, File

T = TypeVar("T")

_LARGEST_WARM: Final = 64 * 1024
_SCRATCH: Final = memoryview(bytearray(_LARGEST_WARM))


class Operation(Protocol):
    """One call to a file or a directory."""

    def now(self) -> object:
        """Perform it in the loop. OSError."""

    async def in_thread(self) -> object:
        """Perform it in a thread. OSError."""


FileWork = Generator[Operation, Any, T]
GiveWay = Callable[[], None]


class ReadBytes(NamedTuple):
    """Read up to `size` bytes from `position`, at least `need` unless the file ends before.

    The result is a memoryview, valid until the generator yields again.
    """

    file: File
    position: int
    need: int
    size: int

    def now(self) -> memoryview:
        """Read in the loop. BlockingIOError: not in memory, or too many bytes to copy."""
        file, position, need, size = self
        if need > _LARGEST_WARM:
            raise BlockingIOError(errno.EAGAIN, "a large read")
        view = _SCRATCH[: min(size, _LARGEST_WARM)]
        try:
            length = file.try_read(position, view)
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:  # tmpfs: no byte is known to be in memory
                raise BlockingIOError(errno.EAGAIN, "cold") from None
            raise
        if length < need and position + length != file.size:  # the rest is on disk
            raise BlockingIOError(errno.EAGAIN, "cold")
        return view[:length]

    async def in_thread(self) -> memoryview:
        """Read in a thread, unless few bytes are wanted and all of them are in memory."""
        if self.size <= _LARGEST_WARM:
            # Before the checkpoint, during which the file may be closed for others: a copy.
            with suppress(BlockingIOError):
                content = memoryview(bytes(self.now()))
                await trio.lowlevel.checkpoint()
                return content
        view = memoryview(bytearray(self.size))
        return view[: await self.file.read(self.position, view)]


class AppendBytes(NamedTuple):
    """Append to a file. The result is the position of the first byte."""

    file: File
    content: Buffer

    def now(self) -> int:
        return self.file.append((self.content,))

    async def in_thread(self) -> int:
        return await self.file.append_slow((self.content,))


class Pause(NamedTuple):
    """Let other tasks run, after about a millisecond of work."""

    def now(self) -> None:
        """Go on at once."""

    async def in_thread(self) -> None:
        await trio.lowlevel.checkpoint()


class OpenFile(NamedTuple):
    """Open a file. FileNotFoundError."""

    directory: Directory
    name: str

    def now(self) -> File:
        return self.directory.open(self.name)

    async def in_thread(self) -> File:
        return self.directory.open(self.name)  # names are cached


class CreateFile(NamedTuple):
    """Create a file with this content. replace: also where the name exists."""

    directory: Directory
    name: str
    content: Buffer
    replace: bool

    def now(self) -> File:
        directory, name, content, replace = self
        exists = replace and directory.exists(name)
        file = directory.open(name) if exists else directory.create(name)
        try:
            if file.size:
                file.truncate(0)
            if content:
                file.append((content,))
        except BaseException:
            file.close()
            raise
        return file

    async def in_thread(self) -> File:
        directory, name, content, replace = self
        return await directory.create_slow(name, content, replace=replace)


def run_in_steps(work: FileWork[T]) -> Steps[T]:
    """Perform the operations in a job of `World.run_in_process`, where reads may block."""
    try:
        operation = next(work)
        while True:
            try:
                result = _read_now(operation) if type(operation) is ReadBytes else operation.now()
            except OSError as error:
                operation = work.throw(error)
            else:
                yield
                operation = work.send(result)
    except StopIteration as stop:
        value: T = stop.value
        return value


def _read_now(operation: ReadBytes) -> memoryview:
    """Read all that is wanted, or up to the end of the file."""
    view, done = memoryview(bytearray(operation.size)), 0
    while done < operation.size:
        length = operation.file.try_read(operation.position + done, view[done:])
        if not length:
            break
        done += length
    return view[:done]


def run_now(work: FileWork[T]) -> T:
    """Perform the operations in the loop. BlockingIOError: a read would wait for the disk."""
    try:
        operation = next(work)
        while True:
            try:
                result = operation.now()
            except BaseException as error:  # noqa: BLE001 - the generator cleans up, and raises it
                operation = work.throw(error)
            else:
                operation = work.send(result)
    except StopIteration as stop:
        value: T = stop.value
        return value


async def run_in_threads(work: FileWork[T]) -> T:
    """Perform the operations in threads; wait for the disk where they must."""
    try:
        operation = next(work)
        while True:
            try:
                result = await operation.in_thread()
            except BaseException as error:  # noqa: BLE001 - as above; a Cancelled too
                operation = work.throw(error)
            else:
                operation = work.send(result)
    except StopIteration as stop:
        value: T = stop.value
        return value
