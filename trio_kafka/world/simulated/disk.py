"""Model of a disk: its content, and what a power loss may remove. Pure, without time.

A node has the visible content, the durable content, and pending changes in order. A sync makes the
changes before it durable. At a power loss each pending change survives or not. A write may be torn
at a sector, with the rest absent or zero. A lost change of a name takes along later changes of the
same names, so a rename is whole or not at all. Directories and files have no order among them.
"""

from random import Random
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen

SECTOR: Final = 512


@frozen
class Write:
    """Bytes written at the end of a file."""

    position: int
    data: bytes


@frozen
class Truncate:
    """Change of a file: it was cut to `size` bytes."""

    size: int


@define(eq=False, kw_only=True)
class FileNode:
    """Content of a file.

    cold: position from which it is not in the page cache; None: all of it is.
    reserved: size for the next one that opens it; 0: its own.
    modified_s: wall time of the creation, or of the last write or cut.
    """

    data: bytearray = field(factory=bytearray)
    cold: int | None = None
    reserved: int = 0
    modified_s: float = 0.0
    _kept: bytearray = field(factory=bytearray)
    _pending: list[Write | Truncate] = field(factory=list)

    def append(self, data: bytes) -> None:
        self._pending.append(Write(len(self.data), data))
        self.data += data

    def fill(self) -> None:
        """Fill the reserved space with zeros."""
        padding, self.reserved = self.reserved - self.size, 0
        if padding > 0:
            self.append(bytes(padding))

    def truncate(self, size: int) -> None:
        self.reserved = 0
        self._pending.append(Truncate(size))
        del self.data[size:]

    @property
    def size(self) -> int:
        return len(self.data)

    @property
    def changes(self) -> int:
        """Number of pending changes, which a sync that begins now covers."""
        return len(self._pending)

    def sync(self, changes: int) -> None:
        for change in self._pending[:changes]:
            self._keep(change)
        del self._pending[:changes]

    def _keep(self, change: Write | Truncate) -> None:
        if isinstance(change, Truncate):
            del self._kept[change.size :]
            return
        gap = change.position - len(self._kept)
        if gap > 0:
            self._kept += bytes(gap)
        self._kept[change.position : change.position + len(change.data)] = change.data

    def lose_power(self, chance: Random, kept: float) -> None:
        """Lose pending changes. kept: probability that one survives whole."""
        for change in self._pending:
            fate = chance.random()
            if fate < kept:
                self._keep(change)
            elif isinstance(change, Write) and fate < kept + (1 - kept) / 2:
                self._keep(_torn(change, chance))
        self._pending = []
        self.data = bytearray(self._kept)
        self.cold = 0


def _torn(write: Write, chance: Random) -> Write:
    whole = chance.randrange(0, len(write.data) + 1, SECTOR) if len(write.data) >= SECTOR else 0
    rest = bytes(len(write.data) - whole) if chance.random() < 0.5 else b""
    return Write(write.position, write.data[:whole] + rest)


@frozen(eq=False)
class Link:
    """A new name for a node."""

    name: str
    node: "Node"


@frozen
class Rename:
    """A new name for a node that had another one."""

    old: str
    new: str


@frozen
class Unlink:
    """A removed name."""

    name: str


NameChange = Link | Rename | Unlink


@define(eq=False)
class DirectoryNode:
    """Names in a directory."""

    names: "dict[str, Node]" = field(factory=dict)
    _kept: "dict[str, Node]" = field(factory=dict)
    _pending: list[NameChange] = field(factory=list)

    @property
    def size(self) -> int:
        """Bytes of all files below."""
        return sum(node.size for node in self.names.values())

    def change(self, change: NameChange) -> None:
        _apply(self.names, change)
        self._pending.append(change)

    @property
    def changes(self) -> int:
        """Number of pending changes, which a sync that begins now covers."""
        return len(self._pending)

    def sync(self, changes: int) -> None:
        for change in self._pending[:changes]:
            _apply(self._kept, change)
        del self._pending[:changes]

    def lose_power(self, chance: Random, kept: float) -> None:
        """Lose pending changes. kept: probability that one survives."""
        lost: set[str] = set()
        for change in self._pending:
            touched = {change.old, change.new} if isinstance(change, Rename) else {change.name}
            if touched & lost or chance.random() >= kept:
                lost |= touched
            else:
                _apply(self._kept, change)
        self._pending = []
        self.names = dict(self._kept)
        for node in self.names.values():
            node.lose_power(chance, kept)


Node = FileNode | DirectoryNode


def _apply(names: dict[str, Node], change: NameChange) -> None:
    if isinstance(change, Link):
        names[change.name] = change.node
    elif isinstance(change, Rename):
        names[change.new] = names.pop(change.old)
    else:
        del names[change.name]
