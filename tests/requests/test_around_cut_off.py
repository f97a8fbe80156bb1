"""An `around` that ends at any point, in any way, gives back all that it holds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.lanes import offset_below
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin import Context, api
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.testing.direct import DirectClient
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import (
    EchoRequest,
    EchoResponse,
    ReadRequest,
    ReadResponse,
    WaitRequest,
    WaitResponse,
)

THREADS = 3
STEPS = 60  # more than any of the requests below takes


class Held:
    """Calls that an owner of interceptors has in flight."""

    def __init__(self) -> None:
        self.count = 0
        self.calls: set[Any] = set()

    def enter(self) -> None:
        self.count += 1

    def leave(self) -> None:
        self.count -= 1

    def hold(self, call: Any) -> None:
        self.calls.add(call)

    def drop(self, call: Any) -> None:
        self.calls.discard(call)

    def cut_off(self) -> None:
        for call in list(self.calls):
            call.cancel()


async def a_turn() -> None:
    await trio.lowlevel.checkpoint()


async def nothing() -> None:
    """Not a single checkpoint."""


async def refuse() -> None:
    raise KafkaError(ErrorCode.INVALID_REQUEST, "refused at once")


@api(EchoRequest)
async def echo(request: EchoRequest, context: Context) -> EchoResponse:
    await context.parked(nothing)
    await a_turn()
    await context.parked(a_turn)
    if request.number:
        await context.parked(refuse)
    return EchoResponse(text=request.text)


@api(ReadRequest)
def read(request: ReadRequest, context: Context) -> ReadResponse:
    return ReadResponse(data=memoryview(b"plain"))


def delaying(harness: PluginHarness) -> Purgatory:
    """Serve WaitRequest by a Delayed that ends when its time is over."""
    purgatory = Purgatory("Wait", harness.timers, harness.node)

    @api(WaitRequest)
    def wait(request: WaitRequest, context: Context) -> Delayed:
        def outcome(timed_out: bool) -> WaitResponse | None:
            return WaitResponse(outcome="time") if timed_out else None

        deadline = trio.current_time() + request.timeout_ms / 1000
        return Delayed(("key",), deadline, outcome, purgatory=purgatory)

    harness.add(wait)
    return purgatory


async def only_forwards(request: Any, context: Context, forward: Any) -> Any:
    return await forward(request)


async def waits(request: Any, context: Context, forward: Any) -> Any:
    """Every kind of wait, before it forwards and afterwards."""
    await context.parked(nothing)
    await a_turn()
    await context.parked(a_turn)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(a_turn)
    answer = await forward(request)
    await context.parked(nothing)
    await a_turn()
    await context.parked(a_turn)
    return answer


async def forwards_elsewhere(request: Any, context: Context, forward: Any) -> Any:
    answers = []

    async def elsewhere() -> None:
        answers.append(await forward(request))
        await a_turn()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(elsewhere)
        await a_turn()
    return answers[0]


async def swallows(request: Any, context: Context, forward: Any) -> Any:
    """Cleans up at length when it is cancelled."""
    try:
        await context.parked(nothing)
        return await forward(request)
    finally:
        with trio.CancelScope(shield=True):
            await a_turn()
            await context.parked(nothing)
            await context.parked(a_turn)


ALL = [only_forwards, waits, forwards_elsewhere, swallows]


async def waits_only_afterwards(request: Any, context: Context, forward: Any) -> Any:
    answer = await forward(request)
    await context.parked(nothing)
    return answer


async def waits_only_before(request: Any, context: Context, forward: Any) -> Any:
    await context.parked(nothing)
    return await forward(request)


async def refuses_afterwards(request: Any, context: Context, forward: Any) -> Any:
    await forward(request)
    await context.parked(refuse)


def group_of(harness: PluginHarness) -> Any:
    assert harness._group is not None
    return harness._group.group


def assert_nothing_is_held(harness: PluginHarness) -> None:
    limiter = group_of(harness).limiter
    assert (limiter.free, limiter.borrowed_tokens) == (THREADS, 0)
    assert limiter.waiting == 0
    assert group_of(harness).parked == 0
    # Replacements of parked handlers are kept for the next ones.
    most = THREADS + group_of(harness).spare
    assert THREADS <= group_of(harness).unparked <= most
    for interception in harness.interceptors._all:
        assert interception.limiter is None or interception.limiter.borrowed_tokens == 0


async def assert_each_kind_is_served(harness: PluginHarness) -> None:
    """As many at once of each kind as there are handlers: the plain, the async, the parked."""
    kinds = [EchoRequest("x"), WaitRequest(100), ReadRequest()] * THREADS
    requests = [(harness.client(), request) for request in kinds]
    with trio.fail_after(10):
        for client, request in requests:
            client.send(request)
        answers = [await client.receive(request) for client, request in requests]
    assert [type(answer).__name__ for answer in answers[:3]] == [
        "EchoResponse",
        "WaitResponse",
        "ReadResponse",
    ]
    assert not any(getattr(answer, "error_code", 0) for answer in answers)


@contextmanager
def put(harness: PluginHarness, *functions: Any, **more: Any) -> Iterator[Held]:
    held = Held()
    placed = [
        harness.interceptors.add(
            "around", None, function, order=order, owner=RecordingOwner(in_flight=held), **more
        )
        for order, function in enumerate(functions)
    ]
    yield held
    for interception in placed:
        harness.interceptors.remove(interception)


async def open_harness(harness: PluginHarness) -> Purgatory:
    group_of(harness).resize(THREADS)
    await assert_each_kind_is_served_before(harness)
    return delaying(harness)


async def assert_each_kind_is_served_before(harness: PluginHarness) -> None:
    """The group has more handlers at first: each request lets one of them go."""
    for _ in range(20):
        await harness.ask(EchoRequest("x"))
    await wait_all_tasks_blocked()


@pytest.mark.parametrize(
    "function", [*ALL, waits_only_before, waits_only_afterwards, refuses_afterwards]
)
@pytest.mark.parametrize(
    "request_", [EchoRequest("x"), EchoRequest("x", 1), ReadRequest(), WaitRequest(10)]
)
async def test_wait_of_an_interceptor_that_ends_at_once_leaks_no_token(
    autojump_clock: MockClock, function: Any, request_: Any
) -> None:
    async with PluginHarness(handlers=[echo, read]) as harness:
        await open_harness(harness)
        with put(harness, function):
            for _ in range(2 * THREADS):
                client = harness.client()
                client.send(request_)
                with trio.fail_after(5):
                    await client._answered.wait()

            await wait_all_tasks_blocked()
            assert_nothing_is_held(harness)
        await assert_each_kind_is_served(harness)


def cut_off(held: Held, client: DirectClient) -> None:
    held.cut_off()


def leave(held: Held, client: DirectClient) -> None:
    client.leave()


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("end", [cut_off, leave])
@pytest.mark.parametrize("function", ALL)
async def test_around_interceptor_that_is_cancelled_at_any_await_releases_token_and_limit(
    autojump_clock: MockClock,
    function: Any,
    end: Callable[[Held, DirectClient], None],
    limit: int | None,
    size: Callable[[int, int], int],
) -> None:
    """Cancelled in the n-th pass of the loop, for each n, with others beside it and behind it."""
    async with PluginHarness(handlers=[echo, read]) as harness:
        purgatory = await open_harness(harness)
        ended_early, step = 0, size(3, 1)
        for passes in range(offset_below(step), STEPS, step):
            for request in (EchoRequest("x"), ReadRequest(), WaitRequest(1)):
                with put(harness, function, only_forwards, limit=limit) as held:
                    victim = harness.client()
                    beside = [harness.client() for _ in range(THREADS)]
                    victim.send(request)
                    for client in beside:
                        client.send(WaitRequest(2))
                    for _ in range(passes):
                        await trio.lowlevel.checkpoint()
                    ended_early += not victim._answered.is_set()
                    end(held, victim)
                    with trio.fail_after(5):
                        if end is cut_off:
                            await victim._answered.wait()
                        for client in beside:
                            await client.receive(WaitRequest())
                    await trio.sleep(1)  # what waits for the purgatory has a deadline
                    assert_nothing_is_held(harness)
                    assert purgatory.waiting == 0
        assert ended_early > size(1, 3)
        await assert_each_kind_is_served(harness)


@pytest.mark.parametrize("function", ALL)
async def test_around_interceptor_over_its_deadline_at_any_await_releases_token_and_limit(
    autojump_clock: MockClock, function: Any
) -> None:
    async def late(request: Any, context: Context, forward: Any) -> Any:
        await trio.sleep(0.5)
        return await function(request, context, forward)

    async with PluginHarness(handlers=[echo, read]) as harness:
        purgatory = await open_harness(harness)
        with put(harness, late, late, deadline_s=0.5, limit=2):
            for request in (EchoRequest("x"), ReadRequest(), WaitRequest(600)):
                clients = [harness.client() for _ in range(2 * THREADS)]
                for client in clients:
                    client.send(request)
                with trio.fail_after(30):
                    for client in clients:
                        await client._answered.wait()
                await wait_all_tasks_blocked()
                assert_nothing_is_held(harness)
        assert purgatory.waiting == 0
        await assert_each_kind_is_served(harness)


async def test_plugin_task_that_is_parked_after_the_response_takes_no_token(
    autojump_clock: MockClock,
) -> None:
    """It runs in a nursery of the plugin's own, and parks when its request has been answered."""
    ends: list[str] = []
    async with PluginHarness(handlers=[echo, read]) as harness, trio.open_nursery() as own:
        await open_harness(harness)

        async def elsewhere(context: Context) -> None:
            try:
                await context.parked(trio.sleep, 1)
            except Exception as error:
                ends.append(str(error))

        async def answers_first(request: Any, context: Context, forward: Any) -> Any:
            own.start_soon(elsewhere, context)
            await trio.sleep(0.5)
            return await forward(request)

        with put(harness, answers_first):
            for _ in range(2 * THREADS):
                await harness.ask(EchoRequest("x"))
            await trio.sleep(2)
            assert_nothing_is_held(harness)
        assert len(ends) == 2 * THREADS
        await assert_each_kind_is_served(harness)


async def test_two_parked_tasks_of_one_request_hold_at_most_one_token(
    autojump_clock: MockClock,
) -> None:
    async def both(request: Any, context: Context, forward: Any) -> Any:
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(context.parked, trio.sleep, 1)
        assert group_of(harness).limiter.borrowed_tokens == 1
        return await forward(request)

    async with PluginHarness(handlers=[echo, read]) as harness:
        await open_harness(harness)
        with put(harness, both):
            for _ in range(2 * THREADS):
                assert (await harness.ask(ReadRequest())).data == b"plain"
            await wait_all_tasks_blocked()
            assert_nothing_is_held(harness)


class Ending(RecordingOwner):
    """An owner that ends the group of handlers when one of its interceptors has failed."""

    def __init__(self, nursery: trio.Nursery) -> None:
        super().__init__()
        self.nursery = nursery

    def failed(self, error: BaseException, where: str) -> None:
        self.nursery.cancel_scope.cancel()


@pytest.mark.parametrize("request_", [ReadRequest(), WaitRequest(100)])
@pytest.mark.parametrize("by_owner", [False, True])
async def test_handler_group_that_is_cancelled_by_an_interceptor_ends(
    autojump_clock: MockClock, request_: Any, by_owner: bool
) -> None:
    """Handler tasks end with it, also the one that runs the interceptor."""
    is_ending = False
    async with PluginHarness(handlers=[read]) as harness:
        delaying(harness)
        nursery = group_of(harness)._nursery
        assert nursery is not None

        async def ends(request: Any, context: Context, forward: Any) -> Any:
            answer = await forward(request)
            if is_ending and by_owner:
                raise ValueError("its owner is told")
            if is_ending:
                nursery.cancel_scope.cancel()
            return answer

        harness.interceptors.add("around", None, ends, order=1, owner=Ending(nursery))
        await harness.ask(WaitRequest(1))
        is_ending = True
        harness.client().send(request_)
        with trio.fail_after(5):
            while nursery.child_tasks:
                await trio.sleep(0.1)
