"""The tasks of errands: kept for the next, bounded, and seen."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.plugin import Context, api
from trio_kafka.requests.interceptors import errands
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.interceptors import Blamed
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text)


async def slowly(request: EchoRequest, context: Context, forward: Any) -> Any:
    await context.parked(trio.sleep, 1)
    return await forward(request)


def figures(harness: PluginHarness) -> Any:
    (tasks,) = [node for _, node in harness.node.walk() if node.name == "interceptor-tasks"]
    return dict(tasks.figures())


async def test_tasks_are_kept_for_the_next_errands(autojump_clock: MockClock) -> None:
    async with PluginHarness(handlers=[echo]) as harness:
        harness.interceptors.add("around", None, slowly, order=1, owner=Blamed())
        clients = [harness.client() for _ in range(20)]
        for _ in range(3):
            for client in clients:
                client.send(EchoRequest("x"))
            await trio.sleep(0.5)
            now = figures(harness)
            assert (now["working"], now["parked"], now["spare"]) == (20, 20, 0)
            for client in clients:
                assert (await client.receive(EchoRequest())).text == "x"
        now = figures(harness)
        assert (now["working"], now["spare"], now["started"], now["done"]) == (0, 20, 20, 60)
        assert now["high_water"] == 20


async def test_no_more_are_kept_than_the_bound(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errands, "SPARE", 5)
    async with PluginHarness(handlers=[echo]) as harness:
        harness.interceptors.add("around", None, slowly, order=1, owner=Blamed())
        clients = [harness.client() for _ in range(20)]
        for client in clients:
            client.send(EchoRequest("x"))
        for client in clients:
            await client.receive(EchoRequest())
        assert figures(harness)["spare"] == 5


async def test_a_task_whose_errand_was_cancelled_serves_the_next(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness(handlers=[echo]) as harness:
        harness.interceptors.add("around", None, slowly, order=1, owner=Blamed())
        for _ in range(5):
            client = harness.client()
            client.send(EchoRequest())
            await trio.sleep(0.5)
            client.leave()
            await trio.sleep(0.5)
        assert (await harness.ask(EchoRequest("x"))).text == "x"
        now = figures(harness)
        assert (now["started"], now["done"], now["spare"]) == (1, 6, 1)


async def test_errands_that_are_under_way_end_with_the_group(autojump_clock: MockClock) -> None:
    ends: list[str] = []

    async def endless(request: EchoRequest, context: Context, forward: Any) -> Any:
        try:
            await trio.sleep_forever()
        finally:
            ends.append("ended")

    async with PluginHarness(handlers=[echo]) as harness:
        harness.interceptors.add("around", None, endless, order=1, owner=Blamed())
        clients = [harness.client() for _ in range(3)]
        for client in clients:
            client.send(EchoRequest())
        await trio.sleep(1)
    assert ends == ["ended"] * 3
