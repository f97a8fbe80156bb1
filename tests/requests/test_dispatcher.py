"""Dispatch of large requests and responses: other tasks run between slices of the work.

The clock here grows with every reading, so that all work takes time, in virtual time too.
"""

from collections.abc import Callable
from itertools import count, groupby
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.requests.work import in_slices
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.network.reasons import CloseReason
from trio_kafka.plugin import Context, api, lazily
from trio_kafka.protocol.schema import array, int16, int32, request, response, string, struct
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.chunked_codec import LARGE, Steps
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.testing.scripted_client import connected, request_frame
from trio_kafka.testing.simulation import simulated_world

MANY = 5000


@request(key=10120, versions="0-1", flexible="1+")
class ListRequest:
    """How many items to return, and words to be counted."""

    item_count: int = int32()
    words: list[str] = array(string)


@struct
class Item:
    number: int = int32()
    name: str = string()


@response(ListRequest)
class ListResponse:
    error_code: int = int16()
    words: int = int32()
    items: list[Item] = array(Item)


def answer(request: ListRequest) -> ListResponse:
    if request.item_count < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    result = lazily(range(request.item_count), lambda at: Item(at, f"item-{at}"))
    return ListResponse(words=len(request.words), items=result)


@api(ListRequest)
def at_once(request: ListRequest, context: Context) -> ListResponse:
    return answer(request)


@api(ListRequest)
@in_slices
def by_steps(request: ListRequest, context: Context) -> Steps[ListResponse]:
    for _ in request.words or range(50):
        yield
    return answer(request)


@api(ListRequest)
async def waiting(request: ListRequest, context: Context) -> ListResponse:
    await context.parked(trio.sleep, 0.01)
    return answer(request)


def delaying(plane: RunningPlane) -> None:
    """A handler that answers later, through the purgatory."""

    @api(ListRequest)
    def delayed(request: ListRequest, context: Context) -> Delayed:
        return Delayed(
            (),
            trio.current_time() + 0.01,
            lambda timed_out: answer(request) if timed_out else None,
            purgatory=plane.purgatory,
        )

    delayed_api = delayed.__trio_kafka_api__  # type: ignore[attr-defined]
    plane.parts.apis.remove(10120)
    plane.parts.apis.add(delayed_api)


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text, number=request.number)


def let_time_pass(plane: RunningPlane, step_s: float = 1e-4) -> None:
    ticks = count()

    def elapsed() -> float:
        return next(ticks) * step_s

    plane.group.elapsed = plane.budget.elapsed = elapsed


def check(answer: Any, items: int, words: int) -> None:
    assert (answer.error_code, answer.words) == (0, words)
    assert answer.items == [Item(at, f"item-{at}") for at in range(items)]


HANDLERS = [at_once, by_steps, waiting, None]
NAMES = ["plain", "generator", "async", "delayed"]
SIZES = [(MANY, 0), (0, MANY * 3), (MANY, MANY * 3), (3, 2)]


@pytest.mark.parametrize("handler", HANDLERS, ids=NAMES)
@pytest.mark.parametrize(("items", "words"), SIZES)
@pytest.mark.parametrize("version", [0, 1])
async def test_large_requests_and_responses_are_complete_and_take_many_passes_of_the_loop(
    autojump_clock: MockClock,
    handler: Callable[..., Any] | None,
    items: int,
    words: int,
    version: int,
) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [handler or at_once]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        if handler is None:
            delaying(plane)
        let_time_pass(plane)
        before = plane.budget.passes
        check(await client.ask(ListRequest(1, ["abcdefgh"]), version), 1, 1)
        few = plane.budget.passes - before
        check(await client.ask(ListRequest(items, ["abcdefgh"] * words), version), items, words)
        many = plane.budget.passes - before - few

        assert plane.group.limiter.borrowed_tokens == 0
    if items + words >= MANY:
        assert many > few + (items + words) / 16 / 6
    else:
        assert many <= few + 1


async def test_another_plane_may_run_before_each_step_of_a_handler(
    autojump_clock: MockClock,
) -> None:
    seen: list[str] = []

    @api(ListRequest)
    @in_slices
    def noted(request: ListRequest, context: Context) -> Steps[ListResponse]:
        for _ in range(50):
            seen.append("step")
            yield
        return answer(request)

    async with (
        running_plane(simulated_world(), [noted]) as plane,
        connected(plane.world, plane.endpoint) as client,
    ):

        def over(_took_s: float) -> None:
            seen.append("pass")
            plane.budget.on_end = over

        let_time_pass(plane, 2e-5)
        plane.budget.yield_point.bind(lambda: seen.append("let in"))
        plane.budget.on_end = over
        check(await client.ask(ListRequest(1), 1), 1, 0)

    first = seen[seen.index("step") - 1 :]
    at_once = [event for event, _ in groupby(first[: first.index("pass")])]
    assert at_once[:4] == ["let in", "step", "let in", "step"]


@pytest.mark.parametrize("handler", [at_once, by_steps, waiting], ids=NAMES[:3])
async def test_responses_of_a_connection_keep_the_order_of_its_requests(
    autojump_clock: MockClock, handler: Callable[..., Any]
) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [handler, echo]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        let_time_pass(plane)
        await client.send(
            request_frame(ListRequest(MANY, ["abcdefgh"] * MANY * 3), 1, correlation=1)
        )
        await client.send(request_frame(EchoRequest("x", 1), 1, correlation=2))
        await client.send(request_frame(ListRequest(MANY), 1, correlation=3))

        first = await client.receive_answer(ListResponse, 1)
        second = await client.receive_answer(EchoResponse, 1)
        third = await client.receive_answer(ListResponse, 1)

    assert [first[0], second[0], third[0]] == [1, 2, 3]
    check(first[1], MANY, MANY * 3)
    assert second[1].number == 1
    check(third[1], MANY, 0)


@pytest.mark.parametrize("handler", [at_once, by_steps, waiting], ids=NAMES[:3])
@pytest.mark.parametrize("words", [0, MANY * 3])
async def test_error_of_a_large_request_is_an_error_response(
    autojump_clock: MockClock, handler: Callable[..., Any], words: int
) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [handler]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        let_time_pass(plane)
        refused = await client.ask(ListRequest(-1, ["abcdefgh"] * words), 1)

        assert refused.error_code == ErrorCode.INVALID_REQUEST
        assert plane.group.limiter.borrowed_tokens == 0


async def test_large_response_that_cannot_be_encoded_becomes_an_error_response(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    @api(ListRequest)
    def broken(request: ListRequest, context: Context) -> ListResponse:
        names = lazily(range(MANY), lambda at: Item(at, "x" if at < MANY - 1 else None))  # type: ignore[arg-type]
        return ListResponse(items=names)

    world = simulated_world()
    async with running_plane(world, [broken]) as plane, connected(world, plane.endpoint) as client:
        let_time_pass(plane)
        refused = await client.ask(ListRequest(), 1)

    assert (refused.error_code, refused.items) == (-1, [])
    assert "handler failed" in caplog.text


@pytest.mark.parametrize("handler", [at_once, waiting], ids=["plain", "async"])
async def test_undecodable_large_request_closes_only_its_own_connection(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, handler: Callable[..., Any]
) -> None:
    whole = request_frame(ListRequest(1, ["abcdefgh"] * LARGE), 1)
    cut = (len(whole) - 10).to_bytes(4) + whole[4:-6]
    world = simulated_world()
    async with (
        running_plane(world, [handler]) as plane,
        connected(world, plane.endpoint) as client,
        connected(world, plane.endpoint) as other,
    ):
        let_time_pass(plane)
        await client.send(cut)

        assert await client.wait_closed()
        assert plane.closed(CloseReason.UNDECODABLE) == 1
        check(await other.ask(ListRequest(MANY), 1), MANY, 0)


async def test_peer_that_leaves_during_a_large_response_does_not_disturb_other_connections(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [at_once]) as plane,
        connected(world, plane.endpoint) as other,
    ):
        let_time_pass(plane)
        async with connected(world, plane.endpoint) as client:
            await client.send(request_frame(ListRequest(MANY * 10), 1))
        check(await other.ask(ListRequest(MANY), 1), MANY, 0)
        await trio.sleep(1)

        assert plane.group.limiter.borrowed_tokens == 0
        assert len(plane.connections) == 1


async def test_steps_of_a_handler_are_closed_when_the_plane_stops(
    autojump_clock: MockClock,
) -> None:
    ended: list[bool] = []
    begun = trio.Event()

    @api(ListRequest)
    @in_slices
    def endless(request: ListRequest, context: Context) -> Steps[ListResponse]:
        begun.set()
        try:
            while True:
                yield
        finally:
            ended.append(True)

    world = simulated_world()
    async with running_plane(world, [endless]) as plane, connected(world, plane.endpoint) as client:
        let_time_pass(plane)
        await client.send(request_frame(ListRequest(), 1))
        await begun.wait()
        for _ in range(10):
            await trio.lowlevel.checkpoint()
        assert plane.group.limiter.borrowed_tokens == 1
        assert not ended

    assert ended == [True]


async def test_large_responses_share_the_tokens_of_the_handlers(autojump_clock: MockClock) -> None:
    places: set[float] = set()
    at = trio.current_time() + 1

    @api(ListRequest)
    def watched(request: ListRequest, context: Context) -> Delayed:
        def make(number: int) -> Item:
            places.add(plane.group.limiter.borrowed_tokens)
            return Item(number, f"item-{number}")

        listing = ListResponse(items=lazily(range(MANY), make))
        return Delayed(
            (), at, lambda timed_out: listing if timed_out else None, purgatory=plane.purgatory
        )

    world = simulated_world()
    async with running_plane(world, [watched], threads=2) as plane:
        let_time_pass(plane)

        async def ask() -> None:
            async with connected(world, plane.endpoint) as client:
                check(await client.ask(ListRequest(MANY), 1), MANY, 0)

        async with trio.open_nursery() as nursery:
            for _ in range(6):
                nursery.start_soon(ask)

    assert places == {0, 1, 2}  # 0: the first steps of each are taken at once


@pytest.mark.parametrize("handler", [at_once, waiting], ids=["plain", "async"])
async def test_a_small_request_of_many_items_takes_many_passes_of_the_loop(
    autojump_clock: MockClock, handler: Callable[..., Any]
) -> None:
    words = LARGE // 2 - 100
    async with (
        running_plane(simulated_world(), [handler]) as plane,
        connected(plane.world, plane.endpoint) as client,
    ):
        let_time_pass(plane)
        await client.ask(ListRequest(words=["", ""]), 1)
        passes = plane.budget.passes
        answer = await client.ask(ListRequest(words=[""] * words), 1)

        check(answer, 0, words)
        assert plane.budget.passes - passes > 100


@struct
class Named:
    name: str = string()


@request(key=10121, versions="0", flexible="0+")
class NamesRequest:
    """Names, each of which is answered."""

    names: list[Named] = array(Named)


@struct
class Answered:
    name: str = string()
    error_code: int = int16()


@response(NamesRequest)
class NamesResponse:
    names: list[Answered] = array(Answered)


@api(NamesRequest)
def refusing(request: NamesRequest, context: Context) -> NamesResponse:
    raise KafkaError(ErrorCode.INVALID_REQUEST)


@api(NamesRequest)
async def refusing_later(request: NamesRequest, context: Context) -> NamesResponse:
    await context.parked(trio.sleep, 0.01)
    raise KafkaError(ErrorCode.INVALID_REQUEST)


@pytest.mark.parametrize("handler", [refusing, refusing_later], ids=["plain", "async"])
async def test_error_response_of_many_items_is_encoded_in_steps(
    autojump_clock: MockClock, handler: Callable[..., Any]
) -> None:
    names = [f"name-{n}" for n in range(MANY)]
    async with (
        running_plane(simulated_world(), [handler, echo]) as plane,
        connected(plane.world, plane.endpoint) as client,
    ):
        let_time_pass(plane)
        answer = await client.ask(NamesRequest(names=[Named(name) for name in names]), 0)

        code = ErrorCode.INVALID_REQUEST
        assert answer.names == [Answered(name, code) for name in names]
        assert plane.budget.passes > 180  # reading takes 130, writing 100
        assert (await client.ask(EchoRequest(text="on", number=1), 0)).text == "on"
        assert plane.group.limiter.borrowed_tokens == 0
