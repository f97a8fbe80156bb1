"""Topics over HTTP."""

from typing import Any

import pytest
from trio.testing import MockClock

from tests.trio_kafka_builtin.rest_gateway.kit import gateway


async def test_a_topic_can_be_created_described_listed_and_deleted_over_http(
    autojump_clock: MockClock,
) -> None:
    async with gateway() as rest:
        expected = {"name": "a", "partitions": 2, "configs": {"retention.ms": "5"}}
        topic = await rest.json("POST", "/v1/topics", expected, 201)
        again = await rest.json("POST", "/v1/topics", expected, 409)
        described = await rest.json("GET", "/v1/topics/a")
        listed = await rest.json("GET", "/v1/topics")
        removed = await rest.ask("DELETE", "/v1/topics/a")
        listed_after = await rest.json("GET", "/v1/topics")

    assert (topic["partitions"], topic["replication_factor"]) == (2, 1)
    assert again["kafka_error"] == "TOPIC_ALREADY_EXISTS"
    assert described["id"] == topic["id"]
    assert described["partitions"][1] == {"partition": 1, "leader": 1, "replicas": [1], "isr": [1]}
    assert listed == {"topics": ["a"], "next": None}
    assert (removed.status, removed.body, listed_after["topics"]) == (204, b"", [])


async def test_all_partitions_of_a_large_topic_are_described(autojump_clock: MockClock) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("wide", 130)
        described = await rest.json("GET", "/v1/topics/wide")

    assert [partition["partition"] for partition in described["partitions"]] == list(range(130))


async def test_topic_names_are_listed_in_pages(autojump_clock: MockClock) -> None:
    async with gateway() as rest:
        for name in "dbca":
            await rest.served.create_topic(name)
        first = await rest.json("GET", "/v1/topics?limit=3")
        second = await rest.json("GET", f"/v1/topics?limit=3&after={first['next']}")

    assert first == {"topics": ["a", "b", "c"], "next": "c"}
    assert second == {"topics": ["d"], "next": None}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": 1},
        {"name": "a", "partitions": "2"},
        {"name": "a", "partitions": True},
        {"name": "a", "configs": {"retention.ms": 5}},
        {"name": "a", "partition": 2},
        {"name": "a", "partitions": 0},
        {"name": "a/b"},
        {"name": "a", "configs": {"no.such": "1"}},
    ],
)
async def test_an_invalid_topic_creation_is_refused_and_creates_nothing(
    body: Any, autojump_clock: MockClock
) -> None:
    async with gateway() as rest:
        answer = await rest.ask("POST", "/v1/topics", body)

        assert answer.status == 400
        assert not rest.served.broker.metadata.image.topics
