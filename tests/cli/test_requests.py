"""`trio-kafka requests`: what it prints of a broker's requests."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from tests.network.test_inflight import park
from trio_kafka.cli import main
from trio_kafka.cli.requests import MORE, as_data, as_text
from trio_kafka.protocol.messages.k10010_describe_requests import (
    DescribeRequestsResponse,
    RequestLife,
)
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import WaitRequest
from trio_kafka.testing.scripted_client import connected, request_frame
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka_apis.k18_api_versions import api_versions
from trio_kafka_apis.k10010_describe_requests import describe_requests

LIFE = RequestLife(
    plane="data",
    api_name="Fetch",
    api_key=1,
    api_version=17,
    client_id="c-1",
    software_name="librdkafka",
    software_version="2",
    peer="10.0.0.1:5",
    listener="PLAINTEXT",
    stage="parked",
    waits_for="Fetch: t-0",
    age_us=1500,
    total_us=2500,
    remote_us=-1,
    error_code=3,
)


@asynccontextmanager
async def broker() -> AsyncIterator[RunningPlane]:
    handlers = [describe_requests, api_versions, park]
    async with running_plane(RealWorld(SkippingClock()), handlers) as plane:
        yield plane


async def run(*arguments: str) -> int:
    """The command in a thread, as it blocks."""
    return await trio.to_thread.run_sync(main, ["requests", *arguments])


async def test_requests_in_flight_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    async with broker() as plane, connected(plane.world, plane.endpoint) as client:
        await client.send(request_frame(WaitRequest(60_000), 0))
        assert await run("--bootstrap", str(plane.endpoint)) == 0

    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["API", "v", "client", "software"]
    (row,) = [row for row in rows if row.startswith("Wait")]
    assert " ".join(row.split()).endswith("parked the end of sleep")


async def test_latest_requests_are_printed_for_the_named_apis(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with broker() as plane:
        at = ("--bootstrap", str(plane.endpoint))
        await run("latest", *at)
        capsys.readouterr()
        await run("latest", *at, "--api", "apiversions", "--api", "10010", "--json")
        shown = json.loads(capsys.readouterr().out)
        unknown = await run("slowest", *at, "--api", "fetch", "--json")

    assert {request["api_name"] for request in shown["requests"]} == {
        "ApiVersions",
        "DescribeRequests",
    }
    assert unknown == 1
    assert capsys.readouterr().err.endswith("no API has the name or key 'fetch'\n")


async def test_server_without_the_requests_api_is_reported_with_status_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with running_plane(RealWorld(SkippingClock()), [api_versions]) as plane:
        assert await run("--bootstrap", str(plane.endpoint)) == 1

    assert capsys.readouterr().err.endswith("only a trio-kafka broker has it\n")


def test_each_request_is_printed_in_one_line() -> None:
    answer = DescribeRequestsResponse(requests=[LIFE], truncated=True)

    _, row, more = as_text(answer, "in-flight")
    shown = "Fetch 17 c-1 librdkafka 2 10.0.0.1:5 PLAINTEXT 1.500 parked Fetch: t-0"
    assert " ".join(row.split()) == shown
    assert more == MORE

    _, over, _ = as_text(answer, "latest")
    assert over.split()[7:11] == ["0.0", "2.500", "0.000", "0.000"]
    assert over.split()[11] == "-"
    assert over.endswith("UNKNOWN_TOPIC_OR_PARTITION")


def test_plane_of_a_request_is_shown_if_not_the_data_plane() -> None:
    LIFE.plane = "control"
    try:
        _, row = as_text(DescribeRequestsResponse(requests=[LIFE]), "in-flight")
    finally:
        LIFE.plane = "data"

    assert "PLAINTEXT (control)" in row


def test_requests_json_has_every_field() -> None:
    (row,) = json.loads(json.dumps(as_data(DescribeRequestsResponse(requests=[LIFE]))))["requests"]
    assert (row["waits_for"], row["age_us"], row["remote_us"]) == ("Fetch: t-0", 1500, -1)
