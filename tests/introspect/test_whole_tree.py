"""The tree of a loaded broker: whatever holds or waits says how much, how long and for whom."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.introspect.tree import Node
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

# What each kind of node tells, at least.
CHANNEL = {"depth", "bound", "high_water", "items", "oldest_s"}
PURGATORY = {"waiting", "high_water", "completed", "expired", "dropped", "oldest_s", "watched"}
LIMITER = {"tokens", "borrowed", "waiting", "held_by"}
FIGURES = {"channel": CHANNEL, "purgatory": PURGATORY, "limiter": LIMITER}
PARKED = 3


@asynccontextmanager
async def loaded() -> AsyncIterator[ServedBroker]:
    """Fetches are parked, a creation goes on, some connections are idle."""
    async with served_broker(simulated_world()) as served:
        topic_id = await served.create_topic("t", partitions=2)
        expected = FetchTopic("t", topic_id, [FetchPartition(partition_max_bytes=1000)])
        fetch = FetchRequest(max_wait_ms=600_000, min_bytes=1, max_bytes=1000, topics=[expected])
        async with trio.open_nursery() as nursery:
            for _ in range(PARKED):
                client = await nursery.start(keep_asking, served, fetch)
                assert client is not None
            await trio.sleep(5)
            yield served
            nursery.cancel_scope.cancel()


async def keep_asking(
    served: ServedBroker, request: Any, *, task_status: trio.TaskStatus[Any]
) -> None:
    async with served.connect() as client:
        task_status.started(client)
        await client.ask(request, 13)


def nodes(served: ServedBroker, kind: str) -> dict[str, Node]:
    return {node.path: node for _, node in served.broker.node.walk() if node.kind == kind}


@pytest.mark.parametrize("kind", FIGURES)
async def test_every_node_of_a_kind_has_the_figures_of_its_kind(
    autojump_clock: MockClock, kind: str
) -> None:
    async with loaded() as served:
        lacks = {
            path: FIGURES[kind] - node.figures().keys()
            for path, node in nodes(served, kind).items()
            if FIGURES[kind] - node.figures().keys()
        }
        assert nodes(served, kind)

    assert lacks == {}


async def test_every_node_has_a_unique_path_and_figures_of_plain_types(
    autojump_clock: MockClock,
) -> None:
    async with loaded() as served:
        paths = [node.path for _, node in served.broker.node.walk()]
        shown = [dict(node.figures()) for _, node in served.broker.node.walk()]

    assert len(set(paths)) == len(paths)
    values = [value for figures in shown for value in figures.values()]
    assert {type(value) for value in values} <= {int, float, str, bool, type(None)}


async def test_purgatory_figures_are_count_oldest_age_and_high_water_of_parked_requests(
    autojump_clock: MockClock,
) -> None:
    async with loaded() as served:
        (fetch,) = [
            node for path, node in nodes(served, "purgatory").items() if path.endswith("/Fetch")
        ]
        figures = fetch.figures()

    assert (figures["waiting"], figures["high_water"]) == (PARKED, PARKED)
    assert 4.9 < float(figures["oldest_s"] or 0) < 5.1


async def test_holder_of_a_limiter_token_is_named_by_its_api(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        (limiter,) = [
            node for path, node in nodes(served, "limiter").items() if "num.io.threads" in path
        ]
        seen: set[object] = set()

        async def watch() -> None:
            while True:
                seen.add(limiter.figures()["held_by"])
                await trio.sleep(0.0001)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            await served.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)]))
            nursery.cancel_scope.cancel()

    assert {"", "CreateTopics"} & seen == seen
    assert "" in seen


async def test_connection_figures_have_client_id_peer_and_buffers(
    autojump_clock: MockClock,
) -> None:
    async with loaded() as served:
        result = [node.figures() for node in nodes(served, "connection").values()]

    assert len(result) == PARKED + 1
    assert {row["client_id"] for row in result} == {"scripted"}
    assert {"peer", "software", "requests", "muted", "buffer", "unsent", "progress"} <= set(
        result[0]
    )
