"""Nodes of the tree that are there only because a viewer looks: requests to this UI, and its queue.

They rank first on a broker without load, and hide what the viewer is looking for.
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka.introspect.tree_reader import TreeRow

REQUESTS: Final = "admin-requests"
"""Name of the channel of pages that are being rendered."""
_PLUGIN: Final = "admin"


def is_own(row: TreeRow, mount: str) -> bool:
    """Return True for the queue of this UI and for a request to it. mount: its path."""
    if row.kind == "task":
        return row.figures.get("mount") == mount
    return is_own_queue(row.path)


def is_own_queue(path: Sequence[str]) -> bool:
    """Return True for the path of the queue of this UI."""
    return path[-1] == REQUESTS and _PLUGIN in path
