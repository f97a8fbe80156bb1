"""Requests in flight: each stage of a request is seen while it lasts, and nothing afterwards."""

from collections.abc import Generator
from itertools import count

import trio
from trio.testing import MockClock

from tests.network.test_processor import echo
from tests.network.test_sending import SMALL_ROOM, longer
from tests.requests.work import in_slices
from trio_kafka.model import TopicPartition
from trio_kafka.network.inflight import Stage, requests_in_flight, stage_of
from trio_kafka.network.request import Request
from trio_kafka.plugin import Context, api
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.handler_waits import busy_handlers
from trio_kafka.requests.request_waits import RequestWaits, no_more_waits, wait_words
from trio_kafka.testing.planes import RunningPlane, asked_plane, running_plane
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse
from trio_kafka.testing.scripted_client import connected, request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated import Universe

WAIT = request_frame(WaitRequest(1000), 0)


class Key:
    """As a Partition: `at` names it."""

    def __init__(self, partition: int) -> None:
        self.at = TopicPartition("t", partition)


@api(WaitRequest)
async def sleep(request: WaitRequest, context: Context) -> WaitResponse:
    await trio.sleep(request.timeout_ms / 1000)
    return WaitResponse()


@api(WaitRequest)
async def park(request: WaitRequest, context: Context) -> WaitResponse:
    await context.parked(trio.sleep, request.timeout_ms / 1000)
    return WaitResponse()


def current_requests(plane: RunningPlane) -> list[Request]:
    return [
        request for request in requests_in_flight(plane.plane.processors) if request is not None
    ]


def stages(plane: RunningPlane) -> list[tuple[Stage, str]]:
    waits, now = RequestWaits(busy_handlers(plane.plane), no_more_waits), trio.current_time()
    return [
        (stage_of(request), wait_words(waits.of(request, now)))
        for request in current_requests(plane)
    ]


async def test_requests_in_flight_show_handler_queued_and_waiting_for_room_stages(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with running_plane(world, [sleep], threads=1, queued=1) as plane:
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                async with connected(world, plane.endpoint) as client:
                    await client.ask(WaitRequest(1000), 0)

            for _ in range(3):
                nursery.start_soon(ask)
                await trio.sleep(0.1)
            free = "a free handler: 1 of 1 are taken, 1 by Wait"
            assert stages(plane) == [
                (Stage.HANDLER, ""),
                (Stage.QUEUED, free),
                (Stage.ROOM, "room in the request channel: 1 of 1 are queued"),
            ]
            assert [request.stamps.correlation for request in current_requests(plane)] == [1, 1, 1]
            await trio.sleep(1)
            assert stages(plane) == [(Stage.HANDLER, ""), (Stage.QUEUED, free)]
        assert stages(plane) == []


async def test_requests_in_flight_name_the_function_for_which_a_handler_is_parked(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with asked_plane(world, [park]) as (plane, client):
        await client.send(WAIT)
        await trio.sleep(0.5)
        assert stages(plane) == [(Stage.PARKED, "the end of sleep")]

        await trio.sleep(1)
        assert stages(plane) == []


async def test_requests_in_flight_name_the_first_four_keys_of_a_delayed_operation(
    autojump_clock: MockClock,
) -> None:
    keys = [Key(number) for number in range(6)]

    @api(WaitRequest)
    def delay(request: WaitRequest, context: Context) -> Delayed:
        return Delayed(
            keys[: request.timeout_ms],
            trio.current_time() + 5,
            lambda timed_out: WaitResponse() if timed_out else None,
            purgatory=plane.purgatory,
        )

    world = simulated_world()
    async with asked_plane(world, [delay]) as (plane, client):
        for count, detail in (
            (2, "a change in Test: t-0, t-1"),
            (6, "a change in Test: t-0, t-1, t-2, t-3 and 2 more"),
        ):
            await client.send(request_frame(WaitRequest(count), 0))
            await trio.sleep(1)
            assert stages(plane) == [(Stage.PARKED, detail)]
            await client.receive_answer(WaitResponse, 0)
            assert stages(plane) == []


async def test_a_sliced_handler_shows_the_handler_stage_between_slices(
    autojump_clock: MockClock,
) -> None:
    @api(WaitRequest)
    @in_slices
    def slow(request: WaitRequest, context: Context) -> Generator[None, None, WaitResponse]:
        for _ in range(2):
            seen.append(stages(plane))
            yield
        return WaitResponse()

    seen: list[list[tuple[Stage, str]]] = []
    world = simulated_world()
    async with asked_plane(world, [slow]) as (plane, client):
        plane.budget.elapsed = count().__next__  # each step is too long to be the first of many
        await client.ask(WaitRequest(), 0)

    assert seen == [[], [(Stage.HANDLER, "its next slice of the loop: it is computed in slices")]]


async def test_requests_show_the_sending_stage_while_the_socket_is_full(
    autojump_clock: MockClock,
) -> None:
    world = Universe(room=1000).machine("broker")
    async with asked_plane(world, [longer], listener=SMALL_ROOM) as (plane, client):
        await client.send(b"".join(request_frame(EchoRequest("xxxx", n), 0) for n in range(3)))
        await trio.sleep(1)
        assert {stage for stage, _ in stages(plane)} == {Stage.SENDING}

        for _ in range(3):
            await client.receive_answer(EchoResponse, 0)
        await trio.sleep(1)
        assert stages(plane) == []


async def test_the_walk_of_requests_yields_none_for_a_connection_without_a_request(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo]) as (plane, client):
        await client.ask(EchoRequest("x", 1), 0)

        assert list(requests_in_flight(plane.plane.processors)) == [None]


async def test_a_finished_request_releases_its_frame_and_its_connection_releases_the_request(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with asked_plane(world, [park]) as (plane, client):
        await client.send(WAIT)
        await trio.sleep(0.5)
        (request,) = current_requests(plane)
        await client.receive_answer(WaitResponse, 0)
        assert request.connection.request is None
        assert request.waits_for is None
        assert request.frame is None

        assert len(plane.plane.request_metrics.of(10101).recent.latest) == 1


async def test_a_parked_request_is_no_longer_in_flight_after_its_peer_closes(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with running_plane(world, [park]) as plane:
        async with connected(world, plane.endpoint) as client:
            await client.send(WAIT)
            await trio.sleep(0.5)
            (request,) = current_requests(plane)
        await trio.sleep(0.1)

        assert stages(plane) == []
        assert request.connection.request is None
