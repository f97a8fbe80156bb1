"""DescribeRequests: requests in hand and over, with their times, bounded, and no content."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from trio.testing import MockClock

from tests.network.test_inflight import park, sleep
from tests.network.test_processor import echo
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k10010_describe_requests import (
    IN_FLIGHT,
    LATEST,
    NOT_YET,
    SLOWEST,
    DescribeRequestsRequest,
    DescribeRequestsResponse,
    RequestLife,
)
from trio_kafka.requests.descriptions import LONGEST
from trio_kafka.requests.inspection import MAX_REQUESTS
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import EchoRequest, WaitRequest
from trio_kafka.testing.scripted_client import connected, frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_apis.k18_api_versions import api_versions
from trio_kafka_apis.k10010_describe_requests import describe_requests


@asynccontextmanager
async def plane_of(*handlers: object) -> AsyncIterator[RunningPlane]:
    async with running_plane(
        simulated_world(),
        [describe_requests, api_versions, *handlers],  # type: ignore[list-item]
    ) as plane:
        yield plane


async def ask(plane: RunningPlane, *arguments: object) -> DescribeRequestsResponse:
    async with connected(plane.world, plane.endpoint) as client:
        answer = await client.ask(DescribeRequestsRequest(*arguments), 0)
    assert isinstance(answer, DescribeRequestsResponse)
    return answer


async def lives(plane: RunningPlane, *arguments: object) -> list[RequestLife]:
    return list((await ask(plane, *arguments)).requests)


async def test_a_parked_request_is_described_with_its_client_and_what_it_waits_for(
    autojump_clock: MockClock,
) -> None:
    async with (
        plane_of(park) as plane,
        connected(plane.world, plane.endpoint) as client,
        trio.open_nursery() as nursery,
    ):
        await client.ask(ApiVersionsRequest("tester", "1.2"), 3)
        nursery.start_soon(client.ask, WaitRequest(2000), 0)
        await trio.sleep(1)

        (life,) = [live for live in await lives(plane) if live.api_name == "Wait"]

    assert (life.plane, life.api_key, life.api_version) == ("data", 10101, 0)
    assert (life.stage, life.waits_for) == ("parked", "the end of sleep")
    assert (life.client_id, life.software_name, life.software_version) == (
        "scripted",
        "tester",
        "1.2",
    )
    assert life.peer.startswith("127.0.0.1:") or life.peer
    assert (life.listener, life.security_protocol) == ("PLAINTEXT", "PLAINTEXT")
    assert 0.9e6 < life.age_us < 1.1e6
    assert life.remote_us == life.total_us - life.local_us - life.queue_us
    assert (life.send_us, life.response_queue_us, life.ended_us) == (NOT_YET,) * 3


async def test_a_completed_request_is_described_with_times_sizes_and_error(
    autojump_clock: MockClock,
) -> None:
    async with plane_of(sleep) as plane, connected(plane.world, plane.endpoint) as client:
        await client.ask(WaitRequest(30), 0)
        await client.ask(ApiVersionsRequest("not a name!", ""), 3)
        await trio.sleep(5)
        latest = await lives(plane, LATEST)

    refused, waited = latest
    assert (waited.api_name, waited.stage, waited.waits_for) == ("Wait", "", "")
    hops = (waited.queue_us, waited.local_us, waited.remote_us, waited.response_queue_us)
    assert sum(hops) + waited.send_us == waited.total_us
    assert 29_000 < waited.local_us < 31_000
    assert 4.9e6 < waited.ended_us < 5.1e6
    assert (waited.error_code, refused.error_code) == (0, ErrorCode.INVALID_REQUEST)
    assert waited.response_bytes == 12


async def test_a_request_of_an_unsupported_version_is_described_with_that_version(
    autojump_clock: MockClock,
) -> None:
    async with plane_of() as plane, connected(plane.world, plane.endpoint) as client:
        await client.send(frame(18, -2))
        await client.receive_frame()
        (refused,) = await lives(plane, LATEST, [18])

    assert (refused.api_key, refused.api_version) == (18, -2)
    assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION


async def test_the_slowest_requests_of_all_apis_are_listed_first(autojump_clock: MockClock) -> None:
    async with plane_of(sleep, echo) as plane, connected(plane.world, plane.endpoint) as client:
        await client.ask(EchoRequest("x", 1), 0)
        for ms in (10, 30, 20):
            await client.ask(WaitRequest(ms), 0)
        slowest = await lives(plane, SLOWEST)

    assert [round(request.total_us / 1e4) for request in slowest] == [3, 2, 1, 0]
    assert slowest[-1].api_name == "Echo"


async def test_requests_are_filtered_by_api_and_client(autojump_clock: MockClock) -> None:
    async with plane_of(echo) as plane, connected(plane.world, plane.endpoint) as client:
        await client.ask(EchoRequest("x", 1), 0)
        await client.ask(ApiVersionsRequest(), 0)

        assert [live.api_key for live in await lives(plane, LATEST, [10100])] == [10100]
        assert await lives(plane, LATEST, [], "somebody else") == []
        assert len(await lives(plane, LATEST, [10100, 18], "scripted")) == 2


async def test_the_filter_by_api_name_applies_before_the_maximum_count(
    autojump_clock: MockClock,
) -> None:
    async with plane_of(sleep, echo) as plane, connected(plane.world, plane.endpoint) as client:
        await client.ask(EchoRequest("x", 1), 0)
        for _ in range(4):
            await client.ask(WaitRequest(10), 0)

        expected = DescribeRequestsRequest(SLOWEST, [], None, 2, ["ECHO", "18"])
        answer = await client.ask(expected, 1)

    assert [request.api_name for request in answer.requests] == ["Echo"]
    assert not answer.truncated


async def test_an_unknown_api_name_is_refused_and_named_in_the_error(
    autojump_clock: MockClock,
) -> None:
    async with plane_of() as plane, connected(plane.world, plane.endpoint) as client:
        answer = await client.ask(DescribeRequestsRequest(LATEST, [], None, -1, ["Fetsch"]), 1)
        many = await client.ask(DescribeRequestsRequest(LATEST, [], None, -1, ["18"] * 257), 1)

    assert answer.error_code == many.error_code == ErrorCode.INVALID_REQUEST
    assert answer.error_message == "no API has the name or key 'Fetsch'"
    assert many.error_message == "257 API names: expected at most 256"


async def test_requests_above_the_wanted_count_are_left_out_and_the_answer_is_truncated(
    autojump_clock: MockClock,
) -> None:
    async with plane_of(echo) as plane, connected(plane.world, plane.endpoint) as client:
        for number in range(4):
            await client.ask(EchoRequest("x", number), 0)

        some = await ask(plane, LATEST, [], None, 3)
        assert (len(some.requests), some.truncated) == (3, True)
        everything = await ask(plane, LATEST, [10100], None, MAX_REQUESTS * 2)
        assert (len(everything.requests), everything.truncated) == (4, False)


async def test_an_unknown_kind_of_list_is_refused(autojump_clock: MockClock) -> None:
    async with plane_of() as plane:
        answer = await ask(plane, 7)

    assert answer.error_code == ErrorCode.INVALID_REQUEST


async def test_client_texts_are_truncated_and_request_contents_are_not_shown(
    autojump_clock: MockClock,
) -> None:
    async with plane_of(echo) as plane, connected(plane.world, plane.endpoint) as client:
        await client.ask(EchoRequest("a secret", 1), 0)
        (life,) = await lives(plane, LATEST, [10100])
        held = plane.plane.request_metrics.by_key[10100].recent.latest[0]
        held.client_id = "x" * 1000
        (cut,) = await lives(plane, LATEST, [10100])

    assert "secret" not in repr(life)
    assert len(cut.client_id) == LONGEST


async def test_describe_requests_lists_at_most_itself_in_the_handler_stage(
    autojump_clock: MockClock,
) -> None:
    async with plane_of() as plane:
        assert {live.stage for live in await lives(plane, IN_FLIGHT)} <= {"handler"}
