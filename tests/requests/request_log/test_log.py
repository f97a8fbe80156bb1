"""The request log: in nobody's way while it is off; bounded, filtered, and never fed by itself."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio
from attrs import define, field
from trio.testing import MockClock

from tests.network.test_processor import echo
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.plugin import Context, api
from trio_kafka.requests.request_log.log import LogFilter, RequestLog, log_filter
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import EchoRequest, WaitRequest, WaitResponse
from trio_kafka.testing.scripted_client import connected, request_frame
from trio_kafka.testing.simulation import simulated_world


@define(eq=False)
class Kept:
    """A sink that keeps what it gets; it can be held up."""

    lines: list[dict[str, Any]] = field(factory=list)
    going: trio.Event = field(factory=trio.Event)

    async def write(self, lines: Sequence[str]) -> None:
        await self.going.wait()
        self.lines += map(json.loads, lines)

    @property
    def apis(self) -> list[str]:
        return [line["requestHeader"]["requestApiKeyName"] for line in self.lines]


@api(WaitRequest)
async def wait(request: WaitRequest, context: Context) -> WaitResponse:
    if request.timeout_ms < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    await context.parked(trio.sleep, request.timeout_ms / 1000)
    return WaitResponse()


@asynccontextmanager
async def logged(bound: int = 100) -> AsyncIterator[tuple[RunningPlane, RequestLog, Kept]]:
    world = simulated_world()
    async with running_plane(world, [echo, wait]) as plane:
        log = RequestLog(
            plane.parts.interceptors,
            [plane.plane],
            plane.node,
            names=plane.plane.request_metrics.name_of,
            topic_id=lambda name: None,
            elapsed=world.clock.elapsed,
            bound=bound,
        )
        sink = Kept()
        sink.going.set()
        async with trio.open_nursery() as nursery:
            await nursery.start(log.run)
            yield plane, log, sink
            nursery.cancel_scope.cancel()


def figures(plane: RunningPlane) -> dict[str, Any]:
    (node,) = [child for child in plane.node.children if child.name == "request-log"]
    return dict(node.figures())


async def test_request_log_has_one_line_for_each_answered_request(
    autojump_clock: MockClock,
) -> None:
    async with logged() as (plane, log, sink):
        log.start(LogFilter(), [sink])
        async with connected(plane.world, plane.endpoint) as client:
            await client.ask(EchoRequest("text", 7), 1)
            await client.ask(WaitRequest(250), 0)
            await client.ask(WaitRequest(-1), 0)
        await log.drain()

    echoed, waited, refused = sink.lines
    assert echoed["request"] == {"text": "text", "number": 7}
    assert echoed["requestHeader"]["clientId"] == "scripted"
    assert 249 < waited["remoteTimeMs"] < 251
    assert refused["errorCode"] == ErrorCode.INVALID_REQUEST


async def test_stopped_request_log_has_no_interceptor_and_logs_nothing(
    autojump_clock: MockClock,
) -> None:
    async with logged() as (plane, log, sink):
        async with connected(plane.world, plane.endpoint) as client:
            await client.ask(EchoRequest("a", 1), 0)
            log.start(LogFilter(), [sink])
            await client.ask(EchoRequest("b", 1), 0)
            log.stop()
            await client.ask(EchoRequest("c", 1), 0)
            log.stop()
        await log.drain()

        assert len(plane.parts.interceptors) == 0
        assert plane.plane.request_metrics.log is None
    assert [line["request"]["text"] for line in sink.lines] == ["b"]


async def test_request_log_filter_selects_apis_and_client_ids(
    autojump_clock: MockClock,
) -> None:
    async with logged() as (plane, log, sink):
        async with connected(plane.world, plane.endpoint) as client:

            async def ask(client_id: str) -> None:
                await client.send(request_frame(EchoRequest(client_id, 1), 0, client_id=client_id))
                await client.receive_frame()

            log.start(log_filter(["ECHO"], ["app-*", "exact"]), [sink])
            for name in ("app-1", "app-", "other", "exact", "exactly"):
                await ask(name)
            await client.ask(WaitRequest(1), 0)
            log.start(log_filter(["10101"], []), [sink])
            await ask("app-1")
            await client.ask(WaitRequest(1), 0)
        await log.drain()

    assert sink.apis == ["ECHO", "ECHO", "ECHO", "WAIT"]
    assert [line["requestHeader"]["clientId"] for line in sink.lines[:3]] == [
        "app-1",
        "app-",
        "exact",
    ]


async def test_request_log_lines_beyond_the_queue_bound_are_dropped_and_counted(
    autojump_clock: MockClock,
) -> None:
    async with logged(bound=2) as (plane, log, sink):
        sink.going = trio.Event()
        log.start(LogFilter(), [sink])
        async with connected(plane.world, plane.endpoint) as client:
            for number in range(6):
                await client.ask(EchoRequest("x", number), 0)
                await trio.sleep(1)
            # One is being written, two wait, three found no room.
            assert (figures(plane)["depth"], figures(plane)["dropped"]) == (2, 3)
            assert figures(plane)["oldest_s"] > 1
            sink.going.set()
        await log.drain()

        assert [line["request"]["number"] for line in sink.lines] == [0, 1, 2]
        assert (figures(plane)["items"], figures(plane)["high_water"]) == (3, 2)


async def test_failing_request_log_sink_is_counted_and_other_sinks_get_their_lines(
    autojump_clock: MockClock,
) -> None:
    class Broken:
        async def write(self, lines: Sequence[str]) -> None:
            raise OSError(28, "no space left")

    async with logged() as (plane, log, sink):
        log.start(LogFilter(), [Broken(), sink])
        async with connected(plane.world, plane.endpoint) as client:
            for number in range(2):
                await client.ask(EchoRequest("x", number), 0)
                await log.drain()

        assert figures(plane)["failed"] == 2
    assert len(sink.lines) == 2


async def test_stamps_of_a_logged_request_do_not_keep_its_body(
    autojump_clock: MockClock,
) -> None:
    async with logged() as (plane, log, sink):
        log.start(LogFilter(), [sink])
        async with connected(plane.world, plane.endpoint) as client:
            await client.ask(EchoRequest("x", 1), 0)
        await log.drain()

        (stamps,) = plane.plane.request_metrics.of(10100).recent.latest
    assert sink.lines[0]["request"] is not None
    assert not hasattr(stamps, "body")


async def test_inspection_node_of_the_request_log_has_the_figures_of_a_channel() -> None:
    node = Node("broker", "broker")
    RequestLog(
        None,  # type: ignore[arg-type]  # nobody starts it
        [],
        node,
        names=str,
        topic_id=lambda name: None,
        elapsed=lambda: 0.0,
        bound=5,
    )

    assert set(node.children[0].figures()) >= {"depth", "bound", "high_water", "oldest_s"}
