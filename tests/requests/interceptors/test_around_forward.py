"""`forward`: what it waits for, what the layers see, and how it ends."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.requests.leases import LeasedReads
from tests.requests.work import in_slices
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Work
from trio_kafka.plugin import Context, api
from trio_kafka.plugin_host.guard import InFlight
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.requests.tokens import Tokens
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import (
    EchoRequest,
    EchoResponse,
    ReadRequest,
    ReadResponse,
    WaitRequest,
    WaitResponse,
)
from trio_kafka.wire.frame import SHORT

Outcome = Callable[[bool], Any]


def at_its_deadline(timed_out: bool) -> WaitResponse | None:
    return WaitResponse(outcome="time") if timed_out else None


def serve_waits(harness: PluginHarness, outcome: Outcome = at_its_deadline) -> Purgatory:
    """WaitRequest is parked until its deadline, or a mark of "key" that `outcome` answers."""
    purgatory = Purgatory("Wait", harness.timers, harness.node)

    @api(WaitRequest)
    def wait(request: WaitRequest, context: Context) -> Delayed:
        deadline = trio.current_time() + request.timeout_ms / 1000
        return Delayed(("key",), deadline, outcome, purgatory=purgatory)

    harness.add(wait)
    return purgatory


async def nothing_more(request: Any, context: Context, forward: Any) -> Any:
    return await forward(request)


def saying(word: str) -> Any:
    async def around(request: Any, context: Context, forward: Any) -> Any:
        answer = await forward(request)
        return WaitResponse(outcome=f"{answer.outcome} {word}")

    return around


def adding(word: str) -> Any:
    def after(request: Any, answer: Any, context: Context) -> None:
        answer.outcome += f" {word}"

    return after


def put(harness: PluginHarness, *functions: Any) -> list[RecordingOwner]:
    """Outermost first; plain functions are `after`s."""
    owners = [RecordingOwner() for _ in functions]
    for order, function in enumerate(functions):
        kind: Any = "after" if function.__name__ == "after" else "around"
        harness.interceptors.add(kind, WaitRequest, function, order=order, owner=owners[order])
    return owners


async def warmed(harness: PluginHarness) -> None:
    """Serve some requests, so that routes and tasks exist."""
    await harness.ask(WaitRequest(1))
    await trio.testing.wait_all_tasks_blocked()


def at_rest(harness: PluginHarness) -> bool:
    (handlers,) = [node for _, node in harness.node.walk() if node.name == "request-handlers"]
    return handlers.figures()["parked"] == 0


@pytest.mark.parametrize("count", [1, 3])
async def test_delayed_response_is_registered_once_behind_any_number_of_around_interceptors(
    autojump_clock: MockClock, count: int
) -> None:
    looks = 0

    def outcome(timed_out: bool) -> WaitResponse | None:
        nonlocal looks
        looks += 1
        return at_its_deadline(timed_out)

    async with PluginHarness() as harness:
        purgatory = serve_waits(harness, outcome)
        put(harness, *[nothing_more] * count)
        await warmed(harness)
        looks = 0
        client = harness.client()
        request = client.send(WaitRequest(1000))
        await trio.testing.wait_all_tasks_blocked()
        looks = 0  # it is looked at once when it is registered

        (delayed,) = purgatory._waiting
        assert delayed.purgatory is purgatory
        assert request.waits_for is delayed
        assert client.connection.parked is not None
        purgatory.mark("key")  # not yet
        await trio.sleep(0.5)
        assert looks == 1
        assert (await client.receive(WaitRequest())).outcome == "time"
        assert (looks, client.connection.parked, request.waits_for) == (2, None, None)
        assert at_rest(harness)


async def test_interceptors_see_a_delayed_response_from_the_innermost_to_the_outermost(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness() as harness:
        serve_waits(harness)
        shells = [adding("1"), saying("2"), adding("3"), adding("4"), saying("5"), adding("6")]
        owners = put(harness, *shells)
        for _ in range(3):  # in a new task, and by hand
            assert (await harness.ask(WaitRequest(100))).outcome == "time 6 5 4 3 2 1"
        assert [owner.failures for owner in owners] == [[]] * 6
        assert at_rest(harness)


async def test_error_of_a_delayed_response_is_a_response_for_all_outer_interceptors(
    autojump_clock: MockClock,
) -> None:
    def outcome(timed_out: bool) -> WaitResponse | None:
        if timed_out:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, "elsewhere")
        return None

    seen: list[int] = []

    def after(request: Any, answer: WaitResponse, context: Context) -> None:
        seen.append(answer.error_code)

    async def around(request: Any, context: Context, forward: Any) -> Any:
        answer = await forward(request)
        seen.append(answer.error_code)
        return answer

    async with PluginHarness() as harness:
        serve_waits(harness, outcome)
        put(harness, after, around, after)
        for _ in range(2):
            assert (await harness.ask(WaitRequest(10))).error_code == 16
        assert seen == [16] * 6


async def test_delayed_response_without_outcome_at_its_deadline_is_an_unknown_server_error(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness() as harness:
        serve_waits(harness, lambda timed_out: None)
        put(harness, adding("outside"), nothing_more)
        for _ in range(2):
            assert (await harness.ask(WaitRequest(10))).error_code == -1
        assert at_rest(harness)


async def test_failing_after_outside_an_around_interceptor_is_an_error_response(
    autojump_clock: MockClock,
) -> None:
    def after(request: Any, answer: Any, context: Context) -> None:
        raise ValueError("bug")

    async with PluginHarness() as harness:
        serve_waits(harness)
        outside, around = put(harness, after, nothing_more)
        for count in (1, 2, 3):
            assert (await harness.ask(WaitRequest(10))).error_code == -1
            assert len(outside.failures) == count
        assert around.failures == []


@pytest.mark.parametrize("shells", [(nothing_more,), (nothing_more, adding("x"), nothing_more)])
async def test_delayed_response_is_not_registered_when_the_peer_has_left(
    autojump_clock: MockClock, shells: tuple[Any, ...]
) -> None:
    ends: list[str] = []

    async def noted(request: Any, context: Context, forward: Any) -> Any:
        try:
            return await forward(request)
        finally:
            ends.append("ended")

    async with PluginHarness() as harness:
        purgatory = serve_waits(harness)
        put(harness, noted, *shells)
        await warmed(harness)
        ends.clear()
        client = harness.client()
        client.connection.left = True
        client.send(WaitRequest(60_000))
        await trio.testing.wait_all_tasks_blocked()
        assert ends == ["ended"]
        assert (purgatory.waiting, purgatory.watchers) == (0, {})
        assert at_rest(harness)


@pytest.mark.parametrize("shells", [(nothing_more,), (adding("x"), nothing_more, nothing_more)])
async def test_leaving_peer_ends_all_interceptors_of_its_delayed_response(
    autojump_clock: MockClock, shells: tuple[Any, ...]
) -> None:
    async with PluginHarness() as harness:
        purgatory = serve_waits(harness)
        owners = put(harness, *shells)
        await warmed(harness)
        for _ in range(2):
            client = harness.client()
            client.send(WaitRequest(60_000))
            await trio.testing.wait_all_tasks_blocked()
            assert purgatory.waiting == 1
            client.leave()
            assert purgatory.waiting == 0
            await trio.testing.wait_all_tasks_blocked()
            assert at_rest(harness)
        assert not any(owner.failures for owner in owners)


async def test_completed_response_behind_an_around_interceptor_waits_for_a_free_token(
    autojump_clock: MockClock,
) -> None:
    @api(EchoRequest)
    async def hold(request: EchoRequest, context: Context) -> EchoResponse:
        await trio.sleep(request.number)
        return EchoResponse()

    async with PluginHarness(handlers=[hold]) as harness:
        purgatory = serve_waits(harness)
        put(harness, saying("outside"), nothing_more)
        await warmed(harness)
        assert harness._group is not None
        harness._group.group.resize(1)
        parked, holding = harness.client(), harness.client()
        parked.send(WaitRequest(1000))
        await trio.testing.wait_all_tasks_blocked()
        assert purgatory.waiting == 1
        holding.send(EchoRequest(number=3))
        began = trio.current_time()
        assert (await parked.receive(WaitRequest())).outcome == "time outside"
        assert trio.current_time() - began == pytest.approx(3, abs=0.01)
        await holding.receive(EchoRequest())
        assert at_rest(harness)


async def test_time_in_forward_does_not_count_as_time_of_the_interceptor(
    autojump_clock: MockClock,
) -> None:
    async def slow(request: Any, context: Context, forward: Any) -> Any:
        await trio.sleep(0.25)
        answer = await forward(request)
        await trio.sleep(0.5)
        return answer

    async with PluginHarness() as harness:
        serve_waits(harness)
        put(harness, slow, nothing_more)
        for _ in range(2):
            client = harness.client()
            request = client.send(WaitRequest(10_000))
            await client.receive(WaitRequest())
            assert request.stamps.plugin_s == pytest.approx(0.75, abs=0.01)
        outer, inner = harness.interceptors._all
        assert outer.seconds == pytest.approx(1.5, abs=0.01)
        assert inner.seconds == pytest.approx(0, abs=0.01)
        assert (outer.calls, inner.calls) == (2, 2)


async def test_around_interceptor_with_a_wrong_signature_is_an_error_response(
    autojump_clock: MockClock,
) -> None:
    async def around(request: Any) -> None: ...

    async with PluginHarness() as harness:
        serve_waits(harness)
        outside, broken = put(harness, nothing_more, around)
        for count in (1, 2, 3):
            assert (await harness.ask(WaitRequest(10))).error_code == -1
            assert [type(error) for error, _ in broken.failures] == [TypeError] * count
        assert outside.failures == []
        assert at_rest(harness)


async def test_timeout_around_forward_cancels_the_inner_interceptor(
    autojump_clock: MockClock,
) -> None:
    ends: list[str] = []

    async def impatient(request: Any, context: Context, forward: Any) -> Any:
        with trio.move_on_after(1):
            return await forward(request)
        return WaitResponse(outcome="impatient")

    async def slow(request: Any, context: Context, forward: Any) -> Any:
        answer = await forward(request)
        try:
            await trio.sleep(2)
        except trio.Cancelled:
            ends.append(answer.outcome)
            raise
        return answer

    async with PluginHarness() as harness:
        serve_waits(harness)
        owners = put(harness, impatient, slow)
        for count in (1, 2):
            assert (await harness.ask(WaitRequest(500))).outcome == "impatient"
            await trio.sleep(5)
            assert ends == ["time"] * count
            assert at_rest(harness)
        assert [owner.failures for owner in owners] == [[], []]


async def test_around_interceptor_that_sleeps_after_forward_is_not_parked(
    autojump_clock: MockClock,
) -> None:
    async def slow(request: Any, context: Context, forward: Any) -> Any:
        answer = await forward(request)
        await trio.sleep(2)
        return answer

    async with PluginHarness() as harness:
        serve_waits(harness)
        put(harness, slow)
        await harness.ask(WaitRequest(1))
        client = harness.client()
        request = client.send(WaitRequest(500))
        await trio.sleep(1)
        assert (request.waits_for, client.connection.parked) == (None, None)
        assert (await client.receive(WaitRequest())).outcome == "time"


async def test_owner_counts_its_calls_in_flight_and_can_cut_them_off(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness() as harness:
        purgatory, in_flight = serve_waits(harness), InFlight()
        harness.interceptors.add(
            "around", WaitRequest, nothing_more, order=1, owner=RecordingOwner(in_flight=in_flight)
        )
        for _ in range(3):
            await harness.ask(WaitRequest(10))
            assert in_flight.count == 0
        clients = [harness.client() for _ in range(3)]
        for client, timeout_ms in zip(clients, (1000, 60_000, 60_000), strict=True):
            client.send(WaitRequest(timeout_ms))
        await trio.testing.wait_all_tasks_blocked()
        assert in_flight.count == 3
        with trio.move_on_after(2):
            await in_flight.wait_empty()
        assert in_flight.count == 2
        in_flight.cut_off()
        with trio.fail_after(1):
            await in_flight.wait_empty()
        assert (await clients[0].receive(WaitRequest())).outcome == "time"
        for client in clients[1:]:
            late = await client.receive(WaitRequest())
            assert late.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert purgatory.waiting == 0
        assert at_rest(harness)


async def test_call_that_waits_for_a_token_is_not_counted_as_in_flight(
    autojump_clock: MockClock,
) -> None:
    """Its owner would wait for what it was never given."""

    @api(EchoRequest)
    async def hold(request: EchoRequest, context: Context) -> EchoResponse:
        await trio.sleep(2)
        return EchoResponse()

    async with PluginHarness(handlers=[hold]) as harness:
        serve_waits(harness)
        in_flight = InFlight()
        harness.interceptors.add(
            "around", WaitRequest, nothing_more, order=1, owner=RecordingOwner(in_flight=in_flight)
        )
        await warmed(harness)
        assert harness._group is not None
        harness._group.group.resize(1)
        holding, waiting = harness.client(), harness.client()
        holding.send(EchoRequest())
        await trio.sleep(1)
        waiting.send(WaitRequest(60_000))
        await trio.testing.wait_all_tasks_blocked()
        assert in_flight.count == 0
        await holding.receive(EchoRequest())
        await trio.testing.wait_all_tasks_blocked()
        assert in_flight.count == 1


async def test_owner_counts_calls_of_routes_that_are_made_while_its_calls_drain(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness() as harness, trio.open_nursery() as nursery:
        serve_waits(harness)
        in_flight = InFlight()
        harness.interceptors.add(
            "around", WaitRequest, nothing_more, order=1, owner=RecordingOwner(in_flight=in_flight)
        )
        in_flight.enter()
        nursery.start_soon(in_flight.wait_empty)
        await trio.testing.wait_all_tasks_blocked()
        client = harness.client()
        client.send(WaitRequest(1000))
        await trio.testing.wait_all_tasks_blocked()
        in_flight.leave()
        await trio.sleep(2)
        assert in_flight.count == 0
        assert not nursery.child_tasks


async def test_parked_request_releases_its_buffer_though_its_interceptor_forwards_late(
    autojump_clock: MockClock,
) -> None:
    async def late(request: Any, context: Context, forward: Any) -> Any:
        await trio.sleep(1)
        return await forward(request)

    async with PluginHarness() as harness:
        purgatory = serve_waits(harness)
        put(harness, late)
        assert harness._group is not None
        buffers = harness._group.buffers
        for _ in range(2):  # in a new task, and by hand
            client = harness.client("long" * SHORT)  # so that the frame is
            client.send(WaitRequest(5000))
            assert buffers.fresh - len(buffers.kept_small) == 1
            await trio.sleep(2)
            assert purgatory.waiting == 1
            assert buffers.fresh - len(buffers.kept_small) == 0
            await client.receive(WaitRequest())


def refuse(request: EchoRequest, context: Context) -> EchoResponse:
    raise KafkaError(ErrorCode.POLICY_VIOLATION)


async def refuse_late(request: EchoRequest, context: Context) -> EchoResponse:
    await trio.sleep(1)
    raise KafkaError(ErrorCode.POLICY_VIOLATION)


@in_slices
def refuse_in_steps(request: EchoRequest, context: Context) -> Steps[EchoResponse]:
    yield
    raise KafkaError(ErrorCode.POLICY_VIOLATION)


@pytest.mark.parametrize("handler", [refuse, refuse_late, refuse_in_steps])
async def test_second_forward_is_refused_after_an_error_response(
    autojump_clock: MockClock, handler: Any
) -> None:
    ends: list[str] = []

    async def again(request: Any, context: Context, forward: Any) -> Any:
        answer = await forward(request)
        try:
            await forward(request)
        except Exception as error:
            ends.append(str(error))
        return answer

    async with PluginHarness(handlers=[api(EchoRequest)(handler)]) as harness:
        harness.interceptors.add("around", EchoRequest, again, order=1, owner=RecordingOwner())
        for count in (1, 2, 3):
            refused = await harness.ask(EchoRequest())
            assert refused.error_code == ErrorCode.POLICY_VIOLATION
            assert len(ends) == count
        assert all("forward is called again" in end for end in ends)


@pytest.mark.parametrize("in_steps", [False, True])
async def test_second_of_two_concurrent_forwards_is_refused(
    autojump_clock: MockClock, in_steps: bool
) -> None:
    served: list[object] = []
    ends: list[str] = []

    @api(EchoRequest)
    async def late(request: EchoRequest, context: Context) -> EchoResponse:
        served.append(request)
        await trio.sleep(1)
        return EchoResponse(text="once")

    @api(EchoRequest)
    @in_slices
    def later(request: EchoRequest, context: Context) -> Steps[Delayed]:
        served.append(request)
        yield
        return Delayed((), trio.current_time() + 1, once, purgatory=purgatory)

    def once(timed_out: bool) -> EchoResponse | None:
        return EchoResponse(text="once") if timed_out else None

    async def both(request: Any, context: Context, forward: Any) -> Any:
        async def elsewhere() -> None:
            try:
                await forward(request)
            except Exception as error:
                ends.append(str(error))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(elsewhere)
            return await forward(request)

    async with PluginHarness(handlers=[later if in_steps else late]) as harness:
        purgatory = Purgatory("Later", harness.timers, harness.node)
        harness.interceptors.add("around", EchoRequest, both, order=1, owner=RecordingOwner())
        for count in (1, 2, 3):
            assert (await harness.ask(EchoRequest())).text == "once"
            assert (len(served), len(ends)) == (count, count)
        assert all("forward is called again" in end for end in ends)


async def test_interceptor_that_responds_itself_after_forward_loses_the_connection(
    autojump_clock: MockClock,
) -> None:
    async def both(request: Any, context: Context, forward: Any) -> Any:
        answer = await forward(request)
        context.request.respond(None)
        return answer

    async with PluginHarness() as harness:
        serve_waits(harness)

        @api(EchoRequest)
        def echo(request: EchoRequest, context: Context) -> EchoResponse:
            return EchoResponse(text=request.text)

        harness.add(echo)
        owners = []
        for of in (WaitRequest, EchoRequest):
            owners.append(RecordingOwner())
            harness.interceptors.add("around", of, both, order=1, owner=owners[-1])
        for owner, request in zip(owners, (WaitRequest(5), EchoRequest()), strict=True):
            for count in (1, 2):  # in a new task, and by hand
                client = harness.client()
                client.send(request)
                await trio.sleep(1)
                assert client.connection.closed
                assert len(owner.failures) == count
        assert at_rest(harness)


async def test_outer_interceptors_see_a_timeout_when_an_inner_call_is_cut_off(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness() as harness:
        serve_waits(harness)
        in_flight, seen = InFlight(), list[int]()

        def after(request: Any, answer: Any, context: Context) -> None:
            seen.append(answer.error_code)

        put(harness, after)
        owner = RecordingOwner(in_flight=in_flight)
        harness.interceptors.add("around", WaitRequest, nothing_more, order=1, owner=owner)
        client = harness.client()
        client.send(WaitRequest(60_000))
        await trio.testing.wait_all_tasks_blocked()
        in_flight.cut_off()

        late = await client.receive(WaitRequest())
        assert late.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert seen == [ErrorCode.REQUEST_TIMED_OUT]
        assert (await harness.ask(WaitRequest(1))).outcome == "time"


async def test_outer_interceptor_that_sleeps_keeps_the_response_of_a_call_that_was_cut_off(
    autojump_clock: MockClock,
) -> None:
    async def slow(request: Any, context: Context, forward: Any) -> Any:
        answer = await forward(request)
        await trio.sleep(1)
        return answer

    async with PluginHarness() as harness:
        serve_waits(harness)
        in_flight = InFlight()
        put(harness, slow)
        owner = RecordingOwner(in_flight=in_flight)
        harness.interceptors.add("around", WaitRequest, nothing_more, order=1, owner=owner)
        client = harness.client()
        client.send(WaitRequest(60_000))
        await trio.testing.wait_all_tasks_blocked()
        in_flight.cut_off()

        late = await client.receive(WaitRequest())
        assert late.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert at_rest(harness)


async def test_forward_returns_the_response_of_an_operation_that_completes_in_steps(
    autojump_clock: MockClock,
) -> None:
    """As a Fetch of many partitions is."""

    def in_steps() -> Steps[WaitResponse]:
        yield
        return WaitResponse(outcome="steps")

    async with PluginHarness() as harness:
        serve_waits(harness, lambda timed_out: Work(in_steps()) if timed_out else None)
        put(harness, saying("seen"), nothing_more)

        assert (await harness.ask(WaitRequest(100))).outcome == "steps seen"


def tokens_of(harness: PluginHarness) -> Tokens:
    assert harness._group is not None
    return harness._group.group.limiter


def limit_of(harness: PluginHarness) -> trio.CapacityLimiter:
    (limiter,) = [
        interception.limiter
        for interception in harness.interceptors._all
        if interception.limiter is not None
    ]
    return limiter


async def test_request_that_ends_before_its_token_releases_the_limit_of_its_interceptor(
    autojump_clock: MockClock,
) -> None:
    """Its turn at the limit came, while all handler tokens were held."""
    gate, holds = trio.Event(), trio.Event()

    async def limited(request: Any, context: Context, forward: Any) -> Any:
        holds.set()
        await gate.wait()
        return ReadResponse(data=memoryview(b"x"))

    in_flight = InFlight()
    reads = LeasedReads()
    async with PluginHarness(handlers=[reads.at_once()]) as harness, trio.open_nursery() as others:
        tokens = tokens_of(harness)
        owner = RecordingOwner(in_flight=in_flight)
        harness.interceptors.add("around", ReadRequest, nothing_more, order=0, owner=owner)
        harness.interceptors.add(
            "around", ReadRequest, limited, order=1, owner=RecordingOwner(), limit=1
        )
        first, second = harness.client(), harness.client()
        first.send(ReadRequest())
        await holds.wait()
        second.send(ReadRequest())
        await wait_all_tasks_blocked()
        tokens.total_tokens = 1  # the first one has it
        other = object()
        others.start_soon(tokens.take, other)
        await wait_all_tasks_blocked()
        gate.set()
        await wait_all_tasks_blocked()
        assert (tokens.borrowed_tokens, tokens.waiting) == (1, 1)

        in_flight.cut_off()
        await wait_all_tasks_blocked()
        tokens.give_back(other)

        assert limit_of(harness).borrowed_tokens == 0
        with trio.fail_after(5):
            assert (await harness.ask(ReadRequest())).data == b"x"


@pytest.mark.parametrize("scarce", ["token", "limit"])
async def test_forward_that_outlives_its_call_releases_the_limit_and_the_response(
    autojump_clock: MockClock, scarce: str
) -> None:
    """The interceptor forwards in a nursery of its plugin, and returns before that has ended."""
    reads = LeasedReads()
    errors: list[str] = []
    returns = trio.Event()

    async def forwards(request: Any, forward: Any) -> None:
        try:
            await forward(request)
        except Exception as error:
            errors.append(str(error))

    async def returns_early(request: Any, context: Context, forward: Any) -> Any:
        own.start_soon(forwards, request, forward)
        await returns.wait()
        return ReadResponse(data=memoryview(b"x"))

    async def stays(request: Any, context: Context, forward: Any) -> Any:
        answer = await forward(request)
        await trio.sleep(1)
        return answer

    async with trio.open_nursery() as own, PluginHarness() as harness:
        purgatory = Purgatory("Read", harness.timers, harness.node)
        harness.add(reads.delayed(purgatory))
        harness.interceptors.add("around", ReadRequest, stays, order=0, owner=RecordingOwner())
        harness.interceptors.add(
            "around", ReadRequest, returns_early, order=1, owner=RecordingOwner(), limit=1
        )
        limit, tokens = limit_of(harness), tokens_of(harness)
        tokens.total_tokens = 2
        client, other = harness.client(), object()
        client.send(ReadRequest())
        await wait_all_tasks_blocked()
        if scarce == "token":
            tokens.total_tokens = 1
            assert tokens.take_nowait(other)
        else:
            limit.acquire_on_behalf_of_nowait(other)
        reads.is_ready = True
        purgatory.mark("key")
        await wait_all_tasks_blocked()
        assert reads.open == 1
        assert (tokens.waiting, limit.statistics().tasks_waiting) in {(1, 0), (0, 1)}

        returns.set()
        await wait_all_tasks_blocked()
        if scarce == "token":
            tokens.give_back(other)
        else:
            limit.release_on_behalf_of(other)
        assert (await client.receive(ReadRequest())).data == b"x"
        await wait_all_tasks_blocked()

        assert limit.borrowed_tokens == 0
        assert reads.open == 0
        assert len(errors) == 1
