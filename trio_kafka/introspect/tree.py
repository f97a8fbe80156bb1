"""The tree of nodes: what runs and what waits, with figures.

A part adds a node for what it runs, holds or waits for, and removes it afterwards. Names are
Kafka's thread names where there is one; a name is cut, as clients choose some. Figures are numbers
and short texts, computed when the tree is read; secrets never enter the tree.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal

from trio_kafka.introspect.texts import LONGEST_NAME, shortened

CROWD: Final = 1000  # children whose figures take 0.2 ms
NodeKind = Literal[
    "broker",
    "plane",
    "nursery",
    "task",
    "channel",
    "limiter",
    "purgatory",
    "selector",
    "connection",
    "listener",
    "log",
    "partition",
    "group",
    "member",
    "file",
    "job",
    "plugin",
    "transaction",
    "part",
]
Figure = int | float | str | bool | None
Figures = Mapping[str, Figure]


def no_figures() -> Figures:
    """Return no figures: the default of a node."""
    return {}


class Node:
    """A node of the tree; children keep the order in which they were added."""

    __slots__ = ("_children", "_figures", "_transient", "kind", "name", "parent")

    def __init__(
        self,
        name: str,
        kind: NodeKind,
        figures: Callable[[], Figures] = no_figures,
        *,
        parent: "Node | None" = None,
        transient: "Callable[[Node], Iterable[Node]] | None" = None,
    ) -> None:
        """transient: see `add`."""
        self.name = name if len(name) <= LONGEST_NAME else shortened(name)
        self.kind = kind
        self.parent = parent
        self._figures = figures
        self._children: dict[Node, None] = {}
        self._transient = transient

    def add(
        self,
        name: str,
        kind: NodeKind,
        figures: Callable[[], Figures] = no_figures,
        *,
        transient: "Callable[[Node], Iterable[Node]] | None" = None,
    ) -> "Node":
        """Add a child; the caller removes it, or uses `child`.

        transient: makes more children of the new node when it is read, for things that are too
            many, or change too often, to keep nodes.
        """
        node = Node(name, kind, figures, parent=self, transient=transient)
        self._children[node] = None
        return node

    def remove(self) -> None:
        """Remove the node with all children; drop its figures. Idempotent.

        The part that holds the node also provides its figures: keeping them would be a cycle.
        """
        self._figures, self._transient = no_figures, None
        if self.parent is not None:
            self.parent._children.pop(self, None)  # noqa: SLF001 - of the same class
            self.parent = None

    @contextmanager
    def child(
        self, name: str, kind: NodeKind, figures: Callable[[], Figures] = no_figures
    ) -> "Iterator[Node]":
        """Add a child while the block runs."""
        node = self.add(name, kind, figures)
        try:
            yield node
        finally:
            node.remove()

    @property
    def children(self) -> tuple["Node", ...]:
        if self._transient is None:
            return tuple(self._children)
        return (*self._children, *self._transient(self))

    @property
    def is_leaf(self) -> bool:
        """True if nothing is below the node."""
        return not self._children and self._transient is None

    @property
    def is_crowded(self) -> bool:
        """True if so many nodes are below it that figures of all of them take milliseconds."""
        return len(self._children) > CROWD

    @property
    def path(self) -> str:
        """Names from the root, joined by slashes."""
        return self.name if self.parent is None else f"{self.parent.path}/{self.name}"

    def figures(self) -> Figures:
        """Return the figures of this moment."""
        return self._figures()

    def walk(self, depth: int = 0) -> "Iterator[tuple[int, Node]]":
        """Yield this node and all below with their depth, parents before children."""
        yield depth, self
        for node in self.children:
            yield from node.walk(depth + 1)
