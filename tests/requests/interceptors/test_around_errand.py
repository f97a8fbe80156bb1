"""Errands that are run by hand: whose task sleeps on, and what it is woken for."""

import random
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.plugin import Context, Delayed, Purgatory, api
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.interceptors import Blamed
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse


class Steps(trio.abc.Instrument):
    """How often the tasks of errands have run."""

    def __init__(self) -> None:
        self.count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += "interceptor" in task.name


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text)


async def nothing_more(request: Any, context: Context, forward: Any) -> Any:
    return await forward(request)


async def late(request: Any, context: Context, forward: Any) -> Any:
    await trio.sleep(1)
    answer = await forward(request)
    await trio.sleep(1)
    return answer


def serve_waits(harness: PluginHarness) -> Purgatory:
    purgatory = Purgatory("Wait", harness.timers, harness.node)

    @api(WaitRequest)
    def wait(request: WaitRequest, context: Context) -> Delayed:
        def outcome(timed_out: bool) -> WaitResponse | None:
            return WaitResponse(outcome="time") if timed_out else None

        deadline = trio.current_time() + request.timeout_ms / 1000
        return Delayed(("key",), deadline, outcome, purgatory=purgatory)

    harness.add(wait)
    return purgatory


def put(harness: PluginHarness, *functions: Any, **more: Any) -> list[Blamed]:
    owners = [Blamed() for _ in functions]
    for order, function in enumerate(functions):
        harness.interceptors.add("around", None, function, order=order, owner=owners[order], **more)
    return owners


def resize(harness: PluginHarness, threads: int) -> None:
    assert harness._group is not None
    harness._group.group.resize(threads)


def figures(harness: PluginHarness) -> dict[str, Any]:
    (tasks,) = [node for _, node in harness.node.walk() if node.name == "interceptor-tasks"]
    return dict(tasks.figures())


async def test_what_only_forwards_wakes_no_task(autojump_clock: MockClock) -> None:
    async with PluginHarness(handlers=[echo]) as harness:
        purgatory = serve_waits(harness)
        put(harness, nothing_more, nothing_more)
        await harness.ask(EchoRequest("the tasks are started"))
        await wait_all_tasks_blocked()
        steps = Steps()
        trio.lowlevel.add_instrument(steps)
        try:
            client = harness.client()
            client.send(EchoRequest("x"))
            assert client._answered.is_set()  # at once: nobody else has run
            clients = [harness.client() for _ in range(2)]
            clients[0].send(WaitRequest(1000))
            assert purgatory.waiting == 1
            assert (await clients[0].receive(WaitRequest())).outcome == "time"
        finally:
            trio.lowlevel.remove_instrument(steps)
        assert steps.count == 0
        now = figures(harness)
        assert (now["started"], now["done"], now["working"], now["parked"]) == (2, 6, 0, 0)


async def test_while_no_token_is_free_it_is_left_to_its_task(autojump_clock: MockClock) -> None:
    @api(EchoRequest)
    async def hold(request: EchoRequest, context: Context) -> EchoResponse:
        await trio.sleep(request.number)
        return EchoResponse(text=request.text)

    async with PluginHarness() as harness:
        resize(harness, 1)
        purgatory = serve_waits(harness)
        harness.interceptors.add("around", WaitRequest, nothing_more, order=1, owner=Blamed())
        await harness.ask(WaitRequest(10))
        harness.add(hold)
        parked, holding, other = (harness.client() for _ in range(3))
        parked.send(WaitRequest(1000))
        holding.send(EchoRequest(number=3))
        await trio.sleep(0.5)
        other.send(WaitRequest(0))
        await trio.sleep(1.5)
        assert purgatory.waiting == 0
        assert figures(harness)["working"] == 2  # one waits to begin, one to go on
        began = trio.current_time()
        for client in (parked, other):
            assert (await client.receive(WaitRequest())).outcome == "time"
        assert trio.current_time() - began == pytest.approx(1, abs=0.01)
        await holding.receive(EchoRequest())


async def test_who_waits_for_something_of_its_own_holds_a_token(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness(handlers=[echo]) as harness:
        resize(harness, 2)
        put(harness, late)
        clients = [harness.client() for _ in range(6)]
        began = trio.current_time()
        for _ in range(2):
            for client in clients:
                client.send(EchoRequest("x"))
            for client in clients:
                assert (await client.receive(EchoRequest())).text == "x"
        # Two at once, each for two seconds.
        assert trio.current_time() - began == pytest.approx(12, abs=0.1)
        assert figures(harness)["working"] == 0


@pytest.mark.parametrize("by_hand", [True, False])
async def test_it_ends_the_same_whoever_runs_it(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, by_hand: bool
) -> None:
    """Where tasks cannot be lent they are woken."""
    monkeypatch.setattr("trio_kafka.requests.interceptors.errands.KNOWN", by_hand)
    ends: list[str] = []

    async def noted(request: WaitRequest, context: Context, forward: Any) -> Any:
        with trio.CancelScope():
            try:
                answer = await forward(request)
            except trio.Cancelled:
                ends.append("cancelled")
                raise
        ends.append(answer.outcome)
        return answer

    async with PluginHarness() as harness:
        purgatory = serve_waits(harness)
        owners = put(harness, nothing_more, late, noted)
        for _ in range(3):
            assert (await harness.ask(WaitRequest(100))).outcome == "time"
            client = harness.client()
            client.send(WaitRequest(60_000))
            await trio.sleep(2)
            assert purgatory.waiting == 1
            client.leave()
            await trio.sleep(2)
            assert purgatory.waiting == 0
        assert ends == ["time", "cancelled"] * 3
        assert [owner.failures for owner in owners] == [[], [], []]
        now = figures(harness)
        assert (now["working"], now["parked"]) == (0, 0)


async def test_what_came_before_its_peer_left_counts(autojump_clock: MockClock) -> None:
    served: list[str] = []

    async def noted(request: EchoRequest, context: Context, forward: Any) -> Any:
        answer = await forward(request)
        served.append(answer.text)
        return answer

    async with PluginHarness(handlers=[echo]) as harness:
        put(harness, noted)
        await harness.ask(EchoRequest("first"))
        client = harness.client()
        client.connection.left = True
        client.send(EchoRequest("second"))
        assert served == ["first", "second"]


async def test_one_that_is_begun_for_nobody_is_cancelled_at_its_first_wait(
    autojump_clock: MockClock,
) -> None:
    ends: list[str] = []

    async def waiting(request: EchoRequest, context: Context, forward: Any) -> Any:
        try:
            await trio.sleep(request.number)
            return await forward(request)
        finally:
            ends.append(request.text)

    async with PluginHarness(handlers=[echo]) as harness:
        put(harness, waiting)
        await harness.ask(EchoRequest("first", 1))
        client = harness.client()
        client.connection.left = True
        began = trio.current_time()
        client.send(EchoRequest("second", 60))
        await wait_all_tasks_blocked()
        assert ends == ["first", "second"]
        assert trio.current_time() == began
        assert figures(harness)["working"] == 0
        assert (await harness.ask(EchoRequest("third", 1))).text == "third"


async def test_a_request_in_hand_says_what_it_waits_for(autojump_clock: MockClock) -> None:
    async def own(request: WaitRequest, context: Context, forward: Any) -> Any:
        await trio.sleep(1)
        await context.parked(trio.sleep, 1)
        return await forward(request)

    async with PluginHarness() as harness:
        purgatory = serve_waits(harness)
        put(harness, own)
        for _ in range(2):  # in a new task, and by hand
            client = harness.client()
            request = client.send(WaitRequest(1000))
            await trio.sleep(0.5)
            assert request.waits_for is None
            assert client.connection.parked is None
            await trio.sleep(1)
            assert str(request.waits_for).startswith("sleep in plugin ")
            await trio.sleep(1)
            assert request.waits_for is next(iter(purgatory._waiting))
            assert client.connection.parked is not None
            await client.receive(WaitRequest())
            assert request.waits_for is None


ACTS = ("sleep", "checkpoint", "parked", "scope", "cancelled scope", "nursery", "shield", "nothing")


async def act(what: str, context: Context) -> None:
    """Something that an interceptor may do, before it forwards or afterwards."""
    match what:
        case "sleep":
            await trio.sleep(0.3)
        case "checkpoint":
            await trio.lowlevel.checkpoint()
        case "parked":
            await context.parked(trio.sleep, 0.3)
        case "scope":
            with trio.move_on_after(0.1):
                await trio.sleep_forever()
        case "cancelled scope":
            with trio.CancelScope() as scope:
                scope.cancel()
            with trio.CancelScope() as scope:
                scope.cancel()
                await trio.sleep(1)
        case "nursery":
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep, 0.2)
        case "shield":
            with trio.CancelScope(shield=True):
                await trio.sleep(0.2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("by_hand", [True, False])
async def test_whatever_they_do_and_whoever_leaves_all_are_answered_and_nothing_stays(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, seed: int, by_hand: bool
) -> None:
    monkeypatch.setattr("trio_kafka.requests.interceptors.errands.KNOWN", by_hand)
    chance = random.Random(seed)
    answered = left = 0

    async def around(request: WaitRequest, context: Context, forward: Any) -> Any:
        mine = random.Random(f"{seed} {request.timeout_ms}")
        assert trio.lowlevel.current_task() is trio.lowlevel.current_task()
        task = trio.lowlevel.current_task()
        await act(mine.choice(ACTS), context)
        with trio.CancelScope(shield=mine.random() < 0.2):
            answer = await forward(request)
        assert trio.lowlevel.current_task() is task
        if answer is not None:
            await act(mine.choice(ACTS), context)
        return answer or WaitResponse(outcome="left")

    async with PluginHarness() as harness:
        purgatory = serve_waits(harness)
        owners = put(harness, around, nothing_more, around, deadline_s=60, limit=7)
        resize(harness, 3)

        async def client() -> None:
            nonlocal answered, left
            asking = harness.client()
            for _ in range(12):
                request = WaitRequest(chance.randrange(2000))
                asking.send(request)
                if chance.random() < 0.25:
                    await trio.sleep(chance.random())
                    asking.leave()
                    left += 1
                    asking = harness.client()
                else:
                    assert (await asking.receive(request)).outcome == "time"
                    answered += 1

        with trio.fail_after(3600):
            async with trio.open_nursery() as nursery:
                for _ in range(20):
                    nursery.start_soon(client)
            await trio.sleep(10)
        assert answered + left == 240
        assert [owner.failures for owner in owners] == [[], [], []]
        now = figures(harness)
        assert (now["working"], now["parked"], purgatory.waiting) == (0, 0, 0)
        assert harness._group is not None
        assert harness._group.group.limiter.borrowed_tokens == 0
        for one in harness.interceptors._all:
            assert one.limiter is not None
            assert one.limiter.borrowed_tokens == 0


async def test_a_scope_that_is_cancelled_already_lets_nobody_wait_in_forward(
    autojump_clock: MockClock,
) -> None:
    async def impatient(request: WaitRequest, context: Context, forward: Any) -> Any:
        with trio.CancelScope() as scope:
            scope.cancel()
            return await forward(request)
        return WaitResponse(outcome="impatient")

    async with PluginHarness() as harness:
        purgatory = serve_waits(harness)
        put(harness, impatient)
        for _ in range(3):  # in a new task, then by hand
            began = trio.current_time()
            assert (await harness.ask(WaitRequest(60_000))).outcome == "impatient"
            assert trio.current_time() == began
            assert purgatory.waiting == 0


async def test_what_is_begun_for_nobody_forwards_nothing_even_if_it_is_not_to_be_cancelled(
    autojump_clock: MockClock,
) -> None:
    """Its frame has been given back: the handler would read what others wrote there."""
    served: list[str] = []
    ends: list[str] = []

    @api(EchoRequest)
    def note(request: EchoRequest, context: Context) -> EchoResponse:
        served.append(request.text)
        return EchoResponse()

    async def stubborn(request: EchoRequest, context: Context, forward: Any) -> Any:
        with trio.CancelScope(shield=True):
            await trio.sleep(request.number)
        try:
            return await forward(request)
        finally:
            ends.append(request.text)

    async with PluginHarness(handlers=[note]) as harness:
        put(harness, stubborn)
        await harness.ask(EchoRequest("first", 1))
        client = harness.client()
        client.connection.left = True
        client.send(EchoRequest("second", 1))
        await trio.sleep(2)
        assert (served, ends) == (["first"], ["first", "second"])
        assert figures(harness)["working"] == 0


async def test_tasks_that_have_slept_all_the_time_are_not_kept_beyond_the_bound(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trio_kafka.requests.interceptors.errands.SPARE", 2)
    async with PluginHarness(handlers=[echo]) as harness:
        serve_waits(harness)
        put(harness, nothing_more)
        clients = [harness.client() for _ in range(6)]
        for _ in range(3):
            # Two are run by hand and parked; the others' tasks are new, and kept before them.
            for number, client in enumerate(clients):
                client.send(WaitRequest(2000 if number < 2 else 1000))
            await trio.sleep(3)
            for client in clients:
                await client.receive(WaitRequest())
            now = figures(harness)
            assert (now["spare"], now["working"]) == (2, 0)
