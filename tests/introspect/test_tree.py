"""One tree of nodes: who is in it, in which order, and what it says."""

import pytest

from trio_kafka.introspect.tree import Node


def test_children_keep_the_order_of_their_creation() -> None:
    root = Node("broker-1", "broker")

    added = [root.add(name, "task") for name in ("b", "a", "c")]

    assert root.children == tuple(added)
    assert [node.parent for node in added] == [root] * 3


def test_removed_node_is_removed_with_all_nodes_below() -> None:
    root = Node("broker-1", "broker")
    plane = root.add("plane data", "plane")
    plane.add("request-channel", "channel")
    kept = root.add("scheduler", "task")

    plane.remove()
    plane.remove()

    assert [node.name for _, node in root.walk()] == ["broker-1", "scheduler"]
    assert plane.parent is None
    assert kept.parent is root


def test_removed_node_does_not_reference_the_source_of_its_figures() -> None:
    node = Node("broker", "broker").add("a", "connection", lambda: {"requests": 1})

    node.remove()

    assert node.figures() == {}


def test_removing_a_node_keeps_another_node_of_the_same_name() -> None:
    root = Node("broker-1", "broker")
    first, second = root.add("connection", "connection"), root.add("connection", "connection")

    first.remove()

    assert root.children == (second,)


def test_child_node_is_removed_at_the_end_of_its_block_even_after_an_error() -> None:
    root = Node("broker-1", "broker")

    with pytest.raises(ValueError, match="gone"), root.child("task", "task") as node:
        assert root.children == (node,)
        raise ValueError("gone")

    assert root.children == ()


def test_figures_are_read_on_request() -> None:
    figures = {"depth": 0}
    node = Node("queue", "channel", lambda: figures)

    figures["depth"] = 7

    assert node.figures() == {"depth": 7}
    assert Node("plain", "part").figures() == {}


def test_path_of_a_node_is_the_names_from_the_root() -> None:
    root = Node("broker-1", "broker")
    leaf = root.add("plane data", "plane").add("request-channel", "channel")

    assert leaf.path == "broker-1/plane data/request-channel"


def test_walk_yields_parents_before_children_with_their_depth() -> None:
    root = Node("broker-1", "broker")
    plane = root.add("plane data", "plane")
    plane.add("acceptor", "task")
    root.add("scheduler", "task")

    walked = [(depth, node.name) for depth, node in root.walk()]

    assert walked == [(0, "broker-1"), (1, "plane data"), (2, "acceptor"), (1, "scheduler")]


def test_walk_continues_when_nodes_are_added_and_removed_meanwhile() -> None:
    root = Node("broker-1", "broker")
    first = root.add("first", "part")
    root.add("second", "part")
    walk = root.walk()
    next(walk)

    first.remove()
    root.add("third", "part")

    assert {node.name for _, node in walk} <= {"first", "second", "third"}


def test_transient_children_are_created_on_each_read() -> None:
    root = Node("root", "broker")
    names = ["a"]
    child = root.add(
        "many", "part", transient=lambda node: [Node(name, "part", parent=node) for name in names]
    )
    child.add("kept", "part")

    assert [node.path for node in child.children] == ["root/many/kept", "root/many/a"]
    names.append("b")
    assert [node.name for _, node in root.walk()] == ["root", "many", "kept", "a", "b"]
    child.remove()
    assert [node.name for node in child.children] == ["kept"]


def test_long_name_chosen_by_a_client_is_shortened() -> None:
    root = Node("root", "broker")
    node = root.add("client-id=" + "c" * 32_000, "part")

    assert node.name.startswith("client-id=ccc")
    assert len(node.path) < 400
    with root.child("c" * 32_000, "task") as child:
        assert len(child.name) < 400
