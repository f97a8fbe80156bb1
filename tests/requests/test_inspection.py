"""A look at the requests of planes: which, how many, and in steps."""

import trio
from trio.testing import MockClock

from tests.network.test_inflight import sleep
from tests.network.test_processor import echo
from trio_kafka.requests.inspection import InspectedRequest, Selection, inspect_requests
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import EchoRequest, WaitRequest
from trio_kafka.testing.scripted_client import connected, request_frame
from trio_kafka.testing.simulation import simulated_world


def seen(
    plane: RunningPlane, which: Selection, most: int = 100
) -> tuple[list[InspectedRequest], bool]:
    return whole(inspect_requests([plane.plane], which, lambda stamps, client: True, most))


async def test_latest_and_slowest_requests_of_all_apis_are_sorted_by_time(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [echo, sleep]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        for ms in (10, 30, 20):
            await client.ask(WaitRequest(ms), 0)
            await client.ask(EchoRequest("x", ms), 0)

        latest, more = seen(plane, Selection.LATEST)
        slowest, _ = seen(plane, Selection.SLOWEST)
        some, some_more = seen(plane, Selection.SLOWEST, 2)

    assert not more
    assert [(request.api, request.stamps.correlation) for request in latest] == [
        ("Echo", 6),
        ("Wait", 5),
        ("Echo", 4),
        ("Wait", 3),
        ("Echo", 2),
        ("Wait", 1),
    ]
    assert [request.stamps.correlation for request in slowest][:3] == [3, 5, 1]
    assert {request.api for request in slowest[3:]} == {"Echo"}
    assert [request.stamps.correlation for request in some] == [3, 5]
    assert some_more
    assert {request.client_id for request in latest} == {"scripted"}
    assert {request.stamps.origin.listener for request in latest} == {"PLAINTEXT"}


async def test_inspected_request_has_its_wire_sizes_and_its_handler_time(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [echo, sleep]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        frame = request_frame(EchoRequest("text", 1), 0)
        await client.send(frame)
        answer = await client.receive_frame()
        await client.ask(WaitRequest(50), 0)
        (waited, echoed), _ = seen(plane, Selection.LATEST)

    stamps = echoed.stamps
    assert (stamps.request_bytes, stamps.response_bytes) == (len(frame) - 4, len(answer) + 4)
    assert round(waited.stamps.handled - waited.stamps.begun, 6) == 0.05
    assert waited.stamps.received <= waited.stamps.begun <= waited.stamps.sent


async def test_inspection_filters_requests_and_reports_that_more_exist(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [echo]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        for number in range(3):
            await client.ask(EchoRequest("x", number), 0)

        assert len(seen(plane, Selection.LATEST, 3)[0]) == 3
        assert not seen(plane, Selection.LATEST, 3)[1]
        some, more = seen(plane, Selection.LATEST, 2)
        assert (len(some), more) == (2, True)
        nobody = whole(
            inspect_requests([plane.plane], Selection.LATEST, lambda stamps, client: client == "x")
        )
        assert nobody == ([], False)


async def test_inspection_of_many_connections_runs_in_steps(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with running_plane(world, [sleep]) as plane, trio.open_nursery() as nursery:

        async def ask() -> None:
            async with connected(world, plane.endpoint) as client:
                await client.ask(WaitRequest(1000), 0)

        for _ in range(130):
            nursery.start_soon(ask)
        await trio.sleep(0.5)

        steps = inspect_requests([plane.plane], Selection.IN_FLIGHT, lambda stamps, client: True)
        assert sum(1 for _ in steps) == 3
        in_flight, _ = seen(plane, Selection.IN_FLIGHT, 1000)
        assert len(in_flight) == 130
        assert {request.stage for request in in_flight} == {"handler", "queued"}
