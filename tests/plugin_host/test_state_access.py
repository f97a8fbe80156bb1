"""State for plugins: what the APIs answer, with their permissions and without a handler."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer, deny_all
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.plugin_host.state_access import (
    is_allowed,
    list_plugins_as,
    read_requests_as,
    read_tree_as,
)
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k10001_describe_tree import DescribeTreeRequest
from trio_kafka.protocol.messages.k10002_list_plugins import ListPluginsRequest
from trio_kafka.protocol.messages.k10010_describe_requests import (
    DescribeRequestsRequest,
    DescribeRequestsResponse,
)
from trio_kafka.protocol.tree_rows import look_of
from trio_kafka.requests.inspection import Selection
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_http.plugin import http


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
    assert rule.decisions == {(Operation.DESCRIBE, ResourceType.CLUSTER)}
    assert {(str(principal), host) for principal, host in rule.principals} == {
        ("User:alice", "in-process")
    }


@pytest.mark.parametrize(
    ("which", "keys", "client", "most"),
    [
        (Selection.LATEST, [], None, -1),
        (Selection.LATEST, [18], None, 2),
        (Selection.SLOWEST, [], "scripted", 1),
        (Selection.LATEST, [], "nobody", -1),
        (Selection.IN_FLIGHT, [1], None, -1),
    ],
)
async def test_listing_requests_gives_the_values_of_a_describe_requests_response(
    autojump_clock: MockClock,
    which: Selection,
    keys: list[int],
    client: str | None,
    most: int,
) -> None:
    async with served_broker(simulated_world()) as served, served.connect() as other:
        for _ in range(3):
            await served.ask(ApiVersionsRequest("soft", "1.0"))
        topic = await served.create_topic("orders")
        fetch_topic = FetchTopic("orders", topic, [FetchPartition(partition=0, fetch_offset=0)])
        fetch = FetchRequest(max_wait_ms=30_000, min_bytes=1, topics=[fetch_topic])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(other.ask, fetch, 12)
            await trio.sleep(1)
            listing = await read_requests_as(
                NOBODY, served.broker.parts, which, keys=keys, client_id=client, most=most
            )
            answer = await served.ask(DescribeRequestsRequest(which, keys, client, most), 1)
            nursery.cancel_scope.cancel()

    def seen(response: DescribeRequestsResponse) -> list[tuple[object, ...]]:
        return [
            (life.api_name, life.client_id, life.correlation_id, life.stage, life.queue_us)
            for life in response.requests
            if life.api_name != "DescribeRequests"
        ]

    assert seen(listing) == seen(answer)
    assert listing.truncated == answer.truncated
    assert bool(seen(listing)) == (client != "nobody")


async def test_listing_plugins_gives_the_values_of_a_list_plugins_response(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world(), plugins=(http,)) as served:
        listing = list_plugins_as(NOBODY, served.broker.parts)
        answer = await served.ask(ListPluginsRequest())

    assert listing.plugins == answer.plugins != []


async def test_principal_without_the_permission_of_the_api_gets_no_requests_and_no_plugins(
    autojump_clock: MockClock,
) -> None:
    alice = Principal("User", "alice")
    async with served_broker(simulated_world()) as served:
        parts = served.broker.parts
        parts.authorizer = RuleAuthorizer(
            lambda operation, _: operation is not Operation.DESCRIBE_CONFIGS
        )
        await read_requests_as(alice, parts, Selection.LATEST)
        with pytest.raises(KafkaError, match="alice has no permission DESCRIBE_CONFIGS"):
            list_plugins_as(alice, parts)
        parts.authorizer = RuleAuthorizer(lambda operation, _: operation is not Operation.DESCRIBE)
        list_plugins_as(alice, parts)
        with pytest.raises(KafkaError, match="alice has no permission DESCRIBE on"):
            await read_requests_as(alice, parts, Selection.LATEST)
        assert is_allowed(alice, parts, Operation.ALTER)
        assert not is_allowed(alice, parts, Operation.DESCRIBE)


async def test_other_tasks_run_while_requests_are_listed(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        for _ in range(300):
            await served.ask(ApiVersionsRequest("soft", "1.0"))
        turns, done = 0, False

        async def others() -> None:
            nonlocal turns
            while not done:
                turns += 1
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(others)
            listing = await read_requests_as(NOBODY, served.broker.parts, Selection.LATEST)
            done = True

    assert turns > len(listing.requests) / 32
