"""The tree for plugins: what DescribeTree answers, with its permission."""

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer, deny_all
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.plugin_host.state_access import read_tree_as
from trio_kafka.protocol.messages.k10001_describe_tree import DescribeTreeRequest
from trio_kafka.protocol.tree_rows import look_of
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


def fill(node: Node) -> None:
    """Add nodes with figures of every kind, and names that are no plain text."""
    figures = {"count": 3, "rate": 0.1, "endless": float("inf"), "none": None, "ready": True}
    for number in range(100):
        child = node.add(f"part {number}", "part", lambda: figures)
        child.add(f"file/\udc80 {number}", "file", lambda: {"text": "ä" * 300})


@pytest.mark.parametrize(
    ("path", "depth", "most", "kinds"),
    [("", -1, -1, ()), ("many", 1, -1, ()), ("many", -1, 50, ()), ("many", -1, -1, ("file",))],
)
async def test_reading_the_tree_gives_the_values_of_a_describe_tree_response(
    autojump_clock: MockClock, path: str, depth: int, most: int, kinds: tuple[str, ...]
) -> None:
    root = Node("broker-1", "broker")
    fill(root.add("many", "part"))
    async with served_broker(simulated_world()) as served:
        served.broker.parts.tree = root
        answer = await served.ask(DescribeTreeRequest(path or None, depth, most, list(kinds)), 1)
        reading = await read_tree_as(
            NOBODY, served.broker.parts, path=path, depth=depth, most=most, kinds=kinds
        )

    assert answer.error_code == 0
    assert reading.truncated == answer.truncated
    assert [(row.depth, row.kind, row.name) for row in reading.rows] == [
        (row.depth, row.kind, row.name) for row in answer.rows
    ]
    assert reading.snapshot(1.0) == look_of(answer, 1.0)


async def test_principal_without_describe_on_the_cluster_reads_nothing(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        parts = served.broker.parts
        parts.authorizer = deny_all()
        with pytest.raises(
            KafkaError, match="User:alice has no permission DESCRIBE on cluster kafka-cluster"
        ) as caught:
            await read_tree_as(Principal("User", "alice"), parts)

    assert caught.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


async def test_authorizer_is_asked_for_the_principal_and_the_cluster(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        parts = served.broker.parts
        parts.authorizer = rule = RuleAuthorizer(
            lambda operation, _: operation is Operation.DESCRIBE
        )
        reading = await read_tree_as(Principal("User", "alice"), parts, depth=0)

    assert [row.name for row in reading.rows] == ["broker-1"]
    assert rule.asked == {(Operation.DESCRIBE, ResourceType.CLUSTER)}
    assert {(str(principal), host) for principal, host in rule.principals} == {
        ("User:alice", "in-process")
    }
