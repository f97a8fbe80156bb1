"""Directories of a simulated disk."""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.world.protocols import Buffer, Directory, Space, check_name
from trio_kafka.world.recent_writes import Writes
from trio_kafka.world.simulated.disk import DirectoryNode, FileNode, Link, Node, Rename, Unlink
from trio_kafka.world.simulated.file import SimulatedFile
from trio_kafka.world.simulated.run import DiskMachine
from trio_kafka.world.world import WorkerLostError


def _error(number: int, path: str) -> OSError:
    """Return the system's error; OSError picks the subclass."""
    return OSError(number, os.strerror(number), path)


def find_directory(node: DirectoryNode, name: str) -> DirectoryNode:
    """Return a directory by name. Raises FileNotFoundError, NotADirectoryError."""
    entry = node.names.get(check_name(name))
    if entry is None:
        raise _error(errno.ENOENT, name)
    if isinstance(entry, FileNode):
        raise _error(errno.ENOTDIR, name)
    return entry


def check_worker(world: DiskMachine, path: str) -> None:
    """Raise WorkerLostError if a fault ends the worker process of a job in the directory `path`."""
    try:
        world.call("run_in_process", path)
    except OSError as error:
        raise WorkerLostError(f"the worker process for {path} has ended") from error


@define(eq=False, kw_only=True)
class SimulatedDirectory:
    """See `protocols.Directory`. blocking: for a job, in which `try_read` never refuses."""

    _world: DiskMachine
    _node: DirectoryNode
    path: str
    _writes: Writes
    _blocking: bool = field(default=False, kw_only=True)

    def _at(self, name: str) -> str:
        return f"{self.path}/{check_name(name)}"

    def _find(self, name: str) -> Node:
        path = self._at(name)
        if name not in self._node.names:
            raise _error(errno.ENOENT, path)
        return self._node.names[name]

    def _new_file(self) -> FileNode:
        return FileNode(modified_s=self._world.wall())

    def names(self) -> list[str]:
        self._world.call("names", self.path)
        return sorted(self._node.names)

    def exists(self, name: str) -> bool:
        self._world.call("exists", self._at(name))
        return name in self._node.names

    def create(self, name: str) -> SimulatedFile:
        path = self._at(name)
        self._world.call("create", path)
        if name in self._node.names:
            raise _error(errno.EEXIST, path)
        node = self._new_file()
        self._node.change(Link(name, node))
        return SimulatedFile(
            world=self._world, node=node, path=path, writes=self._writes, blocking=self._blocking
        )

    def open(self, name: str) -> SimulatedFile:
        path = self._at(name)
        self._world.call("open", path)
        node = self._find(name)
        if isinstance(node, DirectoryNode):
            raise _error(errno.EISDIR, path)
        node.fill()
        return SimulatedFile(
            world=self._world, node=node, path=path, writes=self._writes, blocking=self._blocking
        )

    def rename(self, old: str, new: str) -> None:
        self._world.call("rename", self._at(old), self._at(new))
        moved, replaced = self._find(old), self._node.names.get(new)
        if moved is replaced:
            return
        if replaced is not None:
            _check_replaced(moved, replaced, self._at(new))
        self._node.change(Rename(old, new))

    def move(self, inside: Directory, new: str) -> None:
        self.rename(inside.path.rpartition("/")[2], new)
        inside.path = self._at(new)

    def directory(
        self, name: str, *, create: bool = False, private: bool = False
    ) -> "SimulatedDirectory":
        del private  # it has one user
        path = self._at(name)
        self._world.call("directory", path, create)
        if create and name not in self._node.names:
            self._node.change(Link(name, DirectoryNode()))
        return SimulatedDirectory(
            world=self._world,
            node=find_directory(self._node, name),
            path=path,
            writes=self._writes,
            blocking=self._blocking,
        )

    def lock(self, name: str) -> Callable[[], None]:
        path, locks = self._at(name), self._world.locks
        self._world.call("lock", path)
        if path in locks:
            raise _error(errno.EAGAIN, path)
        if name not in self._node.names:
            self._node.change(Link(name, self._new_file()))
        token, descriptors = object(), self._world.descriptors
        locks[path] = token
        descriptors.others += 1

        def unlock() -> None:
            if locks.get(path) is token:
                del locks[path]
                descriptors.others -= 1

        return unlock

    def resize(self, threads: int) -> None:
        """Do nothing: there are no threads."""

    async def space(self) -> Space:
        await self._world.call_in_thread("space", self.path)
        free = self._world.free_space()
        capacity = self._world.capacity
        return Space(free if capacity is None else capacity, free)

    async def names_slow(self) -> list[str]:
        await self._world.pause(1e-5, 1e-3)
        await self._world.call_in_thread("names", self.path)
        return sorted(self._node.names)

    async def create_slow(
        self, name: str, content: Buffer = b"", *, replace: bool = False
    ) -> SimulatedFile:
        path = self._at(name)
        with trio.CancelScope(shield=True):
            await self._world.pause(1e-4, 5e-3)
            await self._world.call_in_thread("create", path)
            await self._world.call_in_thread("append", path, bytes(content))
        node = self._node.names.get(name)
        if isinstance(node, DirectoryNode):
            raise _error(errno.EISDIR, path)
        if node is not None and not replace:
            raise _error(errno.EEXIST, path)
        if node is None:
            node = self._new_file()
            self._node.change(Link(name, node))
        file = SimulatedFile(
            world=self._world, node=node, path=path, writes=self._writes, blocking=self._blocking
        )
        try:
            file.fill(bytes(content))
        except BaseException:
            file.close()
            raise
        return file

    async def unlink(self, name: str) -> None:
        self._world.call("unlink", self._at(name))
        await self._world.pause(1e-5, 1e-3)
        node = self._find(name)
        if isinstance(node, DirectoryNode) and node.names:
            raise _error(errno.ENOTEMPTY, self._at(name))
        self._node.change(Unlink(name))

    async def sync(self) -> None:
        changes = self._node.changes
        with trio.CancelScope(shield=True):
            await self._world.call_in_thread("sync_directory", self.path)
            await self._world.pause(1e-3, 3e-2)
        self._node.sync(changes)

    async def sync_all(self, inside: Sequence[Directory]) -> bool:
        if not all(directory.path.startswith(f"{self.path}/") for directory in inside):
            await self._world.call_in_thread("sync_all", self.path)
            return False
        seen = [(node, node.changes) for node in _nodes_below(self._node)]
        with trio.CancelScope(shield=True):
            await self._world.call_in_thread("sync_all", self.path)
            await self._world.pause(1e-3, 3e-2)
        for node, changes in seen:
            node.sync(changes)
        return True

    async def sync_together(self, name: str, inside: Sequence[tuple[Directory, bytes]]) -> None:
        files: dict[bytes, SimulatedFile] = {}
        with trio.CancelScope(shield=True), ExitStack() as stack:
            await self._world.pause(1e-4, 5e-3)
            for directory, content in inside:
                if not content:
                    continue
                original = files.get(content)
                if original is None:
                    original = files[content] = SimulatedFile(
                        world=self._world,
                        node=self._new_file(),
                        path=f"{directory.path}/{name}",
                        writes=self._writes,
                    )
                    stack.callback(original.close)
                await self._again(directory)._put(name, content, original)  # noqa: SLF001 - same class
            for file in files.values():
                await file.sync()
            for directory, _ in inside:
                await self._again(directory).sync()
            await self.sync()

    def _again(self, directory: Directory) -> "SimulatedDirectory":
        """Look up a directory by its path, as the system does. FileNotFoundError: it is gone."""
        node = find_directory(self._node, directory.path.rpartition("/")[2])
        return SimulatedDirectory(
            world=self._world, node=node, path=directory.path, writes=self._writes
        )

    async def _put(self, name: str, content: bytes, file: SimulatedFile) -> None:
        """Give a file a name here, and its content with the first name."""
        path = self._at(name)
        await self._world.call_in_thread("create", path)
        if name in self._node.names:
            self._node.change(Unlink(name))
        if not file.size:
            await self._world.call_in_thread("append", path, content)
            file.fill(content)
        self._node.change(Link(name, file.node))


def _nodes_below(directory: DirectoryNode) -> Iterator[Node]:
    """Yield files before the directories that name them, and this directory last."""
    for node in directory.names.values():
        if isinstance(node, DirectoryNode):
            yield from _nodes_below(node)
        else:
            yield node
    yield directory


def _check_replaced(moved: Node, replaced: Node, path: str) -> None:
    if isinstance(moved, FileNode):
        if isinstance(replaced, DirectoryNode):
            raise _error(errno.EISDIR, path)
    elif isinstance(replaced, FileNode):
        raise _error(errno.ENOTDIR, path)
    elif replaced.names:
        raise _error(errno.ENOTEMPTY, path)
