"""The registry of what runs and what waits: one tree of nodes with figures.

Whoever holds or waits for something keeps a node here while it lives. Names are Kafka's thread
names where there is one. Figures are numbers and short texts, computed when asked; secrets never
enter the tree. Adding and removing a node costs below 1 µs, keeping it nothing: a part counts in
attributes of its own, and `figures` reads them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

Kind = Literal[
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
    "part",
]
Figure = int | float | str | bool | None
Figures = Mapping[str, Figure]


def no_figures() -> Figures:
    """The figures of a node that has none."""
    return {}


class Node:
    """One place in the tree; children keep the order in which they came."""

    __slots__ = ("_children", "_figures", "_passing", "kind", "name", "parent")

    def __init__(
        self,
        name: str,
        kind: Kind,
        figures: Callable[[], Figures] = no_figures,
        parent: "Node | None" = None,
        passing: "Callable[[Node], Iterable[Node]] | None" = None,
    ) -> None:
        """passing: see `add`."""
        self.name = name
        self.kind = kind
        self.parent = parent
        self._figures = figures
        self._children: dict[Node, None] = {}
        self._passing = passing

    def add(
        self,
        name: str,
        kind: Kind,
        figures: Callable[[], Figures] = no_figures,
        passing: "Callable[[Node], Iterable[Node]] | None" = None,
    ) -> "Node":
        """A new child; whoever adds it removes it, or uses `child`.

        passing: gives children of the new node that are made when somebody looks: of things that
        are too many, or change too often, to keep nodes.
        """
        node = Node(name, kind, figures, self, passing)
        self._children[node] = None
        return node

    def remove(self) -> None:
        """Leave the tree, with all children, and have no figures any more. Idempotent.

        Whoever has the node is who gives the figures: a cycle, were they kept.
        """
        self._figures, self._passing = no_figures, None
        if self.parent is not None:
            self.parent._children.pop(self, None)  # noqa: SLF001 - of the same class
            self.parent = None

    @contextmanager
    def child(
        self, name: str, kind: Kind, figures: Callable[[], Figures] = no_figures
    ) -> "Iterator[Node]":
        """A child for as long as the block runs."""
        node = self.add(name, kind, figures)
        try:
            yield node
        finally:
            node.remove()

    @property
    def children(self) -> tuple["Node", ...]:
        if self._passing is None:
            return tuple(self._children)
        return (*self._children, *self._passing(self))

    @property
    def path(self) -> str:
        """Names from the root, joined by slashes."""
        return self.name if self.parent is None else f"{self.parent.path}/{self.name}"

    def figures(self) -> Figures:
        """Read now."""
        return self._figures()

    def walk(self, depth: int = 0) -> "Iterator[tuple[int, Node]]":
        """Every node below and this one, each with its depth; parents before children."""
        yield depth, self
        for node in self.children:
            yield from node.walk(depth + 1)
