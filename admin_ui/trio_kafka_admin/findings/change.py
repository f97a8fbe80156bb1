"""Change: two moments side by side, as rules see them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from attrs import define

from trio_kafka.attributes import frozen
from trio_kafka.introspect.facts.groups import GroupFacts, PartitionLag
from trio_kafka.introspect.snapshots import NodeSnapshot, Path
from trio_kafka.introspect.tree import Figure
from trio_kafka_admin.moments import Moment


@frozen(kw_only=True)
class NodeChange:
    """Node of the tree in the latest moment and in the one before.

    seconds: between the moments; None: there is no earlier one.
    """

    path: Path
    now: NodeSnapshot
    past: NodeSnapshot | None
    seconds: float | None

    @property
    def name(self) -> str:
        """Path of the node without the root's name."""
        return "/".join(self.path[1:])

    def __getitem__(self, figure: str) -> Figure:
        return self.now.figures.get(figure)

    def number(self, figure: str) -> float:
        """Return a numeric figure; 0 if it is missing or not a number."""
        return self.now.number(figure)

    def grown(self, figure: str) -> float:
        """Return the growth of a figure since the earlier moment; 0 if there is none.

        For a node that is new since then, return the whole figure.
        """
        if self.seconds is None:
            return 0.0
        return self.number(figure) - (self.past.number(figure) if self.past else 0.0)


@define(eq=False, slots=False)
class Change:
    """Two moments. before: None if there is no earlier one."""

    before: Moment | None
    now: Moment

    @property
    def seconds(self) -> float | None:
        """Seconds between the moments."""
        return None if self.before is None else self.now.at - self.before.at

    @cached_property
    def nodes(self) -> Sequence[NodeChange]:
        """Nodes of the tree, parents before children."""
        past = {} if self.before is None else self.before.tree.nodes
        seconds = self.seconds
        return [
            NodeChange(path=path, now=node, past=past.get(path), seconds=seconds)
            for path, node in self.now.tree.nodes.items()
        ]

    @cached_property
    def _by_kind(self) -> Mapping[str, Sequence[NodeChange]]:
        nodes = dict[str, list[NodeChange]]()
        for node in self.nodes:
            nodes.setdefault(node.now.kind, []).append(node)
        return nodes

    def of_kind(self, kind: str) -> Sequence[NodeChange]:
        """Return the nodes of a kind."""
        return self._by_kind.get(kind, ())

    def named(self, name: str) -> Iterator[NodeChange]:
        """Yield the nodes with a name."""
        return (node for node in self.nodes if node.path[-1] == name)

    def below(self, name: str) -> Iterator[NodeChange]:
        """Yield the nodes right below those with a name."""
        return (node for node in self.nodes if len(node.path) > 1 and node.path[-2] == name)

    @cached_property
    def past_groups(self) -> Mapping[str, GroupFacts]:
        """Groups of the earlier moment by id."""
        groups = () if self.before is None else self.before.groups
        return {group.group_id: group for group in groups}

    def past_partitions(self, group_id: str) -> Mapping[tuple[str, int], PartitionLag]:
        """Return the lags of a group in the earlier moment, by topic and partition."""
        group = self.past_groups.get(group_id)
        rows = () if group is None else group.partitions
        return {(row.topic, row.partition): row for row in rows}
