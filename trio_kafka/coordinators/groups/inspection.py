"""Nodes of the tree for groups and their members, up to a bound."""

from collections.abc import Collection, Iterator
from functools import partial
from itertools import islice
from typing import Final

from trio_kafka.coordinators.groups.protocols import Group
from trio_kafka.introspect.tree import Node

_GROUPS: Final = 200
_MEMBERS: Final = 100  # of one group


def group_nodes(groups: Collection[Group], parent: Node) -> Iterator[Node]:
    """Yield a node for each group, and one with the number of the others."""
    for group in tuple(islice(groups, _GROUPS)):  # groups may come and go meanwhile
        yield Node(group.group_id, "group", group.describe, parent, partial(_member_nodes, group))
    yield from _more(len(groups) - _GROUPS, "groups", parent)


def _member_nodes(group: Group, parent: Node) -> Iterator[Node]:
    members = group.members()
    for member in members[:_MEMBERS]:
        yield Node(member.member_id, "member", member.figures, parent)
    yield from _more(len(members) - _MEMBERS, "members", parent)


def _more(count: int, what: str, parent: Node) -> Iterator[Node]:
    if count > 0:
        yield Node(f"{count} more {what}", "part", parent=parent)
