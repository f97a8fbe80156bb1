"""Handlers run, fail, wait and are replaced; the group goes on."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.requests.work import in_slices
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError, ProtocolError
from trio_kafka.introspect.log import fields_of
from trio_kafka.network.reasons import CloseReason
from trio_kafka.plugin import Context, api
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from trio_kafka.purgatory import Delayed
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import (
    EchoRequest,
    EchoResponse,
    ReadRequest,
    ReadResponse,
    WaitRequest,
    WaitResponse,
)
from trio_kafka.testing.scripted_client import connect, connected, frame, request_frame
from trio_kafka.testing.simulation import simulated_world


@api(EchoRequest)
def failing(request: EchoRequest, context: Context) -> EchoResponse:
    if request.text == "kafka":
        raise KafkaError(ErrorCode.NOT_COORDINATOR, "elsewhere")
    if request.text == "disk":
        raise LogDirError("/data", "broken")
    if request.text == "unwritable":
        return EchoResponse(text=None)  # type: ignore[arg-type]
    raise ValueError(request.text)


async def test_handler_that_raises_gives_an_error_response_and_keeps_the_connection(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [failing]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        bug = await client.ask(EchoRequest("bug", 1), 0)
        answer = await client.ask(EchoRequest("kafka", 1), 1)
        unwritable = await client.ask(EchoRequest("unwritable", 1), 1)
        disk = await client.ask(EchoRequest("disk", 1), 1)

        assert (bug.error_code, bug.error_message) == (-1, None)
        assert (answer.error_code, answer.error_message) == (16, "elsewhere")
        assert unwritable.error_code == -1
        assert disk.error_code == 56
        assert plane.counters.value("request_errors", api="Echo", error="NOT_COORDINATOR") == 1
        assert plane.counters.value("request_errors", api="Echo", error="UNKNOWN_SERVER_ERROR") == 2

    failures = [record for record in caplog.records if record.getMessage() == "handler failed"]
    assert len(failures) == 2
    assert failures[0].exc_info is not None
    assert isinstance(failures[0].exc_info[1], ValueError)


@pytest.mark.parametrize("waits", [False, True])
async def test_a_broken_invariant_stops_the_plane(autojump_clock: MockClock, waits: bool) -> None:
    @api(EchoRequest)
    def plain(request: EchoRequest, context: Context) -> EchoResponse:
        raise InvariantError("two leaders")

    @api(EchoRequest)
    async def waiting(request: EchoRequest, context: Context) -> EchoResponse:
        raise InvariantError("two leaders")

    async def ask() -> None:
        world = simulated_world()
        async with running_plane(world, [waiting if waits else plain]) as plane:
            client = await connect(world.network, plane.endpoint)
            await client.send(request_frame(EchoRequest(), 0))
            await trio.sleep(1)

    with pytest.raises(BaseException) as failure:
        await ask()

    assert failure.group_contains(InvariantError, match="two leaders")


async def test_async_handler_that_raises_releases_its_token(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    @api(WaitRequest)
    async def wait(request: WaitRequest, context: Context) -> WaitResponse:
        await trio.sleep(1)
        raise ValueError

    world = simulated_world()
    async with (
        running_plane(world, [wait], threads=1) as plane,
        connected(world, plane.endpoint) as client,
    ):
        for _ in range(3):
            assert (await client.ask(WaitRequest(1), 0)).error_code == -1
        assert plane.group.limiter.borrowed_tokens == 0


async def test_error_of_an_api_without_error_response_closes_the_connection(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    @api(ReadRequest)
    def read(request: ReadRequest, context: Context) -> ReadResponse:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    world = simulated_world()
    async with running_plane(world, [read]) as plane, connected(world, plane.endpoint) as client:
        await client.send(request_frame(ReadRequest(), 0))
        await client.wait_closed()

        assert plane.closed(CloseReason.NO_ERROR_ANSWER) == 1


@pytest.mark.parametrize("waits", [False, True])
async def test_protocol_error_of_a_handler_closes_only_its_own_connection(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, waits: bool
) -> None:
    def refuse(request: EchoRequest) -> EchoResponse:
        if request.text == "bad":
            raise ProtocolError("not like this")
        return EchoResponse(text=request.text)

    async def echo_late(request: EchoRequest, context: Context) -> EchoResponse:
        await trio.lowlevel.checkpoint()
        return refuse(request)

    def echo(request: EchoRequest, context: Context) -> EchoResponse:
        return refuse(request)

    world = simulated_world()
    async with (
        running_plane(world, [api(EchoRequest)(echo_late if waits else echo)]) as plane,
        connected(world, plane.endpoint) as client,
        connected(world, plane.endpoint) as other,
    ):
        await client.send(request_frame(EchoRequest("bad"), 0))

        assert await client.wait_closed()
        assert plane.closed(CloseReason.FORBIDDEN) == 1
        assert plane.counters.value("request_errors", api="Echo", error="UNKNOWN_SERVER_ERROR") == 0
        (line,) = [
            record for record in caplog.records if record.getMessage() == "connection closed"
        ]
        assert fields_of(line)["detail"] == "Echo: not like this"
        assert (await other.ask(EchoRequest("good"), 0)).text == "good"


async def test_error_in_making_the_error_response_closes_the_connection(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    def say(request: Any, code: ErrorCode, message: str | None) -> None:
        raise LookupError

    @api(EchoRequest, error=say)
    def echo(request: EchoRequest, context: Context) -> EchoResponse:
        raise ValueError

    world = simulated_world()
    async with running_plane(world, [echo]) as plane, connected(world, plane.endpoint) as client:
        await client.send(request_frame(EchoRequest(), 0))
        await client.wait_closed()

        assert plane.closed(CloseReason.NO_ERROR_ANSWER) == 1


async def test_api_versions_of_an_unknown_version_is_answered_in_version_0(
    autojump_clock: MockClock,
) -> None:
    @api(ApiVersionsRequest)
    def versions(request: ApiVersionsRequest, context: Context) -> ApiVersionsResponse:
        return ApiVersionsResponse()

    world = simulated_world()
    async with (
        running_plane(world, [versions]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        await client.send(frame(18, 99, b"whatever that is", correlation=5))
        correlation, answer = await client.receive_answer(ApiVersionsResponse, 0)

        assert (correlation, answer.error_code) == (5, 35)
        assert (await client.ask(ApiVersionsRequest(), 0)).error_code == 0


async def test_api_versions_without_a_handler_closes_the_connection(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with running_plane(world, []) as plane, connected(world, plane.endpoint) as client:
        await client.send(frame(18, 99))
        await client.wait_closed()

        assert plane.closed(CloseReason.UNKNOWN_API) == 1


def delaying(planes: list[RunningPlane], outcome: Any, *, waits: bool = False) -> Any:
    def make(request: WaitRequest) -> Delayed:
        return Delayed(
            ("key",),
            trio.current_time() + request.timeout_ms / 1000,
            outcome,
            purgatory=planes[0].purgatory,
        )

    @api(WaitRequest)
    def plain(request: WaitRequest, context: Context) -> Delayed:
        return make(request)

    @api(WaitRequest)
    async def waiting(request: WaitRequest, context: Context) -> Delayed:
        delayed = make(request)
        await trio.sleep(1)
        return delayed

    return waiting if waits else plain


async def test_delayed_response_is_sent_after_a_mark_or_at_its_deadline(
    autojump_clock: MockClock,
) -> None:
    planes: list[RunningPlane] = []
    ready: list[bool] = []

    def outcome(timed_out: bool) -> WaitResponse | None:
        return WaitResponse(outcome="time" if timed_out else "mark") if timed_out or ready else None

    world = simulated_world()
    async with (
        running_plane(world, [delaying(planes, outcome)], threads=1) as plane,
        connected(world, plane.endpoint) as client,
    ):
        planes.append(plane)
        began = trio.current_time()
        assert (await client.ask(WaitRequest(3000), 0)).outcome == "time"
        assert 3.0 <= trio.current_time() - began < 3.1

        await client.send(request_frame(WaitRequest(3000), 0))
        await trio.sleep(1)
        plane.purgatory.mark("key")
        await trio.sleep(1)
        ready.append(True)
        plane.purgatory.mark("key")
        assert (await client.receive_answer(WaitResponse, 0))[1].outcome == "mark"
        assert len(plane.purgatory.watchers) == plane.timers.waiting == 0


async def test_delayed_response_of_an_async_handler_is_tried_again_after_registration(
    autojump_clock: MockClock,
) -> None:
    planes: list[RunningPlane] = []
    handler = delaying(planes, lambda timed_out: WaitResponse(outcome="again"), waits=True)
    world = simulated_world()
    async with (
        running_plane(world, [handler], threads=1) as plane,
        connected(world, plane.endpoint) as client,
    ):
        planes.append(plane)
        with trio.fail_after(1.1):
            assert (await client.ask(WaitRequest(60_000), 0)).outcome == "again"


async def test_delayed_response_of_a_handler_in_steps_is_tried_again_after_registration(
    autojump_clock: MockClock,
) -> None:
    planes: list[RunningPlane] = []
    delayed = delaying(planes, lambda timed_out: WaitResponse(outcome="mark"))

    @api(WaitRequest)
    @in_slices
    def stepping(request: WaitRequest, context: Context) -> Steps[Delayed]:
        yield
        result: Delayed = delayed(request, context)
        return result

    world = simulated_world()
    async with (
        running_plane(world, [stepping]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        planes.append(plane)
        began = trio.current_time()
        assert (await client.ask(WaitRequest(3000), 0)).outcome == "mark"

        assert trio.current_time() - began < 1


async def test_delayed_response_that_fails_gets_an_error_response(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    planes: list[RunningPlane] = []

    def outcome(timed_out: bool) -> WaitResponse:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    world = simulated_world()
    async with (
        running_plane(world, [delaying(planes, outcome)]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        planes.append(plane)
        assert (await client.ask(WaitRequest(10), 0)).error_code == 56
        unwritable = delaying(planes, lambda timed_out: EchoResponse())
        assert unwritable is not None


async def test_parked_handler_holds_a_token_when_its_deadline_is_raised(
    autojump_clock: MockClock,
) -> None:
    borrowed: list[int] = []
    planes: list[RunningPlane] = []

    @api(WaitRequest)
    async def wait(request: WaitRequest, context: Context) -> WaitResponse:
        group = planes[0].group
        borrowed.append(group.limiter.borrowed_tokens)
        try:
            deadline = trio.current_time() + request.timeout_ms / 1000
            await context.parked(trio.sleep_forever, deadline=deadline)
        except trio.TooSlowError:
            borrowed.append(group.limiter.borrowed_tokens)
        try:
            await context.parked(failing_wait, "boom")
        except LookupError as error:
            borrowed.append(group.limiter.borrowed_tokens)
            return WaitResponse(outcome=str(error))
        raise AssertionError

    async def failing_wait(text: str) -> None:
        await trio.sleep(0.1)
        raise LookupError(text)

    world = simulated_world()
    async with (
        running_plane(world, [wait], threads=1) as plane,
        connected(world, plane.endpoint) as client,
    ):
        planes.append(plane)
        assert (await client.ask(WaitRequest(500), 0)).outcome == "boom"
        await wait_all_tasks_blocked()
        assert borrowed == [1, 1, 1]
        assert plane.group.limiter.borrowed_tokens == 0
        assert (plane.group.parked, plane.group.unparked - plane.group.spare) == (0, 1)


async def test_leaving_peer_cancels_a_parked_handler_but_not_a_running_one(
    autojump_clock: MockClock,
) -> None:
    ends: list[str] = []

    @api(WaitRequest)
    async def wait(request: WaitRequest, context: Context) -> WaitResponse:
        try:
            await trio.sleep(request.timeout_ms / 1000)
            ends.append("ran on")
            await context.parked(trio.sleep_forever)
        finally:
            ends.append("ended")
        return WaitResponse()

    world = simulated_world()
    async with running_plane(world, [wait], threads=1) as plane:
        client = await connect(world.network, plane.endpoint)
        await client.send(request_frame(WaitRequest(5000), 0))
        await trio.sleep(1)
        client.close()
        await trio.sleep(1)
        assert ends == []
        await trio.sleep(4)

        assert ends == ["ran on", "ended"]
        assert plane.group.limiter.borrowed_tokens == 0
        assert not plane.connections
        async with connected(world, plane.endpoint) as other:
            await other.send(request_frame(WaitRequest(0), 0))
            await trio.sleep(1)
            assert plane.group.parked == 1


async def test_async_handlers_running_at_once_are_at_most_the_number_of_threads(
    autojump_clock: MockClock,
) -> None:
    running, most = 0, 0

    @api(WaitRequest)
    async def wait(request: WaitRequest, context: Context) -> WaitResponse:
        nonlocal running, most
        for _ in range(3):
            running += 1
            most = max(most, running)
            await trio.sleep(0.01)
            running -= 1
            await context.parked(trio.sleep, 0.01)
        running += 1
        most = max(most, running)
        running -= 1
        return WaitResponse()

    world = simulated_world()
    async with running_plane(world, [wait], threads=3) as plane:
        clients = [await connect(world.network, plane.endpoint) for _ in range(20)]
        for client in clients:
            await client.send(request_frame(WaitRequest(1), 0))
        for client in clients:
            await client.receive_answer(WaitResponse, 0)
            client.close()
        await trio.sleep(1)

        assert most == 3
        assert plane.group.idle == 3


async def test_resize_adds_threads_at_once_and_removes_free_threads(
    autojump_clock: MockClock,
) -> None:
    running, most = 0, 0

    @api(WaitRequest)
    async def wait(request: WaitRequest, context: Context) -> WaitResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(1)
        running -= 1
        return WaitResponse()

    async def run_many() -> int:
        nonlocal most
        most = 0
        clients = [await connect(world.network, plane.endpoint) for _ in range(12)]
        for client in clients:
            await client.send(request_frame(WaitRequest(1), 0))
        for client in clients:
            await client.receive_answer(WaitResponse, 0)
            client.close()
        return most

    world = simulated_world()
    async with running_plane(world, [wait], threads=1) as plane:
        assert await run_many() == 1
        async with (
            connected(world, plane.endpoint) as first,
            connected(world, plane.endpoint) as second,
        ):
            for client in (first, second):
                await client.send(request_frame(WaitRequest(1), 0))
            await trio.sleep(0.5)
            assert running == 1
            plane.group.resize(4)
            await trio.sleep(0.1)
            assert running == 2  # the one that waited for a thread has one
        assert await run_many() == 4
        plane.group.resize(2)
        assert await run_many() == 2
        assert plane.group.unparked == 2


async def test_all_completions_are_served_when_handlers_are_removed_by_a_resize(
    autojump_clock: MockClock,
) -> None:
    """Both are marked at once: one handler is woken for the two, and goes after the first."""
    planes: list[RunningPlane] = []

    def outcome(timed_out: bool) -> WaitResponse | None:
        return WaitResponse(outcome="mark")

    world = simulated_world()
    async with (
        running_plane(world, [delaying(planes, outcome)], threads=4) as plane,
        connected(world, plane.endpoint) as first,
        connected(world, plane.endpoint) as second,
    ):
        planes.append(plane)
        for client in (first, second):
            await client.send(request_frame(WaitRequest(60_000), 0))
        await trio.sleep(1)
        plane.group.resize(2)

        plane.purgatory.mark("key")

        with trio.fail_after(1):
            for client in (first, second):
                assert (await client.receive_answer(WaitResponse, 0))[1].outcome == "mark"


async def test_handler_sees_the_client_id(autojump_clock: MockClock) -> None:
    @api(EchoRequest)
    def who(request: EchoRequest, context: Context) -> EchoResponse:
        return EchoResponse(text=context.client_id)

    world = simulated_world()
    async with running_plane(world, [who]) as plane, connected(world, plane.endpoint) as client:
        for name in ("one", None, "two", "two"):
            await client.send(request_frame(EchoRequest(), 1, client_id=name))
            assert (await client.receive_answer(EchoResponse, 1))[1].text == (name or "")


async def test_completions_yield_to_the_loop_when_their_time_slice_is_used(
    autojump_clock: MockClock,
) -> None:
    planes: list[RunningPlane] = []
    passes: list[int] = []

    def outcome(timed_out: bool) -> WaitResponse:
        passes.append(planes[0].budget.passes)
        autojump_clock.jump(1.0)
        return WaitResponse(outcome="done")

    world = simulated_world()
    async with (
        running_plane(world, [delaying(planes, outcome)], threads=1) as plane,
        connected(world, plane.endpoint) as client_a,
        connected(world, plane.endpoint) as client_b,
    ):
        planes.append(plane)
        for client in client_a, client_b:
            await client.send(request_frame(WaitRequest(60_000), 0))
        await trio.sleep(1)
        plane.purgatory.mark("key")
        for client in client_a, client_b:
            await client.receive_answer(WaitResponse, 0)

    first, second = passes
    assert first < second


async def test_completions_are_served_after_the_handler_that_served_them_parks(
    autojump_clock: MockClock,
) -> None:
    @api(WaitRequest)
    async def wait(request: WaitRequest, context: Context) -> WaitResponse:
        await context.parked(trio.sleep, request.timeout_ms / 1000)
        return WaitResponse()

    world, got = simulated_world(), list[str]()
    async with running_plane(world, [wait], threads=1) as plane:
        clients = [await connect(world.network, plane.endpoint) for _ in range(3)]
        for client in clients:
            await client.send(request_frame(WaitRequest(1000), 0))
        await trio.sleep(5)
        assert plane.group.spare == 3
        delayed = Delayed((), float("inf"), lambda timed_out: "done", purgatory=plane.purgatory)
        plane.purgatory.watch(delayed, plane.channel.completions.append, got.append)
        delayed.marked()  # no handler is woken for it

        await clients[0].send(request_frame(WaitRequest(60_000), 0))
        await trio.sleep(1)

        assert got == ["done"]
        for client in clients:
            client.close()
