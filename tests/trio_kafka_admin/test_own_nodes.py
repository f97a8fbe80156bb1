"""Nodes that are in the tree only because a viewer looks."""

import pytest

from trio_kafka.introspect.tree_reader import TreeRow
from trio_kafka_admin.own_nodes import REQUESTS, is_own


@pytest.mark.parametrize(
    ("path", "kind", "mount", "expected"),
    [
        (("b", "c", "GET /admin/tree"), "task", "/admin", True),
        (("b", "c", "GET /metrics"), "task", "/metrics", False),
        (("b", "c", "raft-io"), "task", None, False),
        (("b", "plugins", "admin", "generation-2", REQUESTS), "channel", None, True),
        (("b", "plugins", "other", "generation-2", REQUESTS), "channel", None, False),
        (("b", "plugins", "admin"), "plugin", None, False),
    ],
)
def test_only_the_requests_to_the_ui_and_its_queue_are_its_own(
    path: tuple[str, ...], kind: str, mount: str | None, expected: bool
) -> None:
    figures = {} if mount is None else {"mount": mount}
    row = TreeRow(path=path, kind=kind, name=path[-1], figures=figures)

    assert is_own(row, "/admin") is expected
