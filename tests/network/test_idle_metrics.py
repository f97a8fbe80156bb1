"""How idle processors and handlers are said to be, with a loop and with a clock of the test's."""

import pytest
import trio
from attrs import define

from tests.network.echoing import waiting
from trio_kafka.network.idle_metrics import EVERY_S, IdleMetrics
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, api
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.testing.planes import asked_plane
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse
from trio_kafka.testing.scripted_client import request_frame
from trio_kafka.world.real import RealWorld


@define
class Waiting:
    idle: int = 4


class Loop:
    """Passes of a loop, by a clock of its own."""

    def __init__(self) -> None:
        self.now = 100.0
        self.budget = LoopBudget(lambda: self.now)
        self.budget.handlers = self.waiting = Waiting()
        self.size = 4
        self.budget.before_io_wait(0)
        self.idle = IdleMetrics(self.budget, list, lambda: self.size)

    def run(self, busy_s: float, idle_s: float, seconds: float) -> None:
        for _ in range(round(seconds / (busy_s + idle_s))):
            self.now += idle_s
            self.budget.after_io_wait(0)
            self.now += busy_s
            self.budget.before_io_wait(0)


async def test_idle_metrics_are_1_when_the_loop_always_waits() -> None:
    loop = Loop()
    loop.run(0.0, 0.1, 600)

    assert loop.idle.network() == loop.idle.handlers() == 1.0


async def test_idle_metrics_are_0_when_the_loop_never_waits() -> None:
    loop = Loop()
    loop.run(0.1, 0.0, 600)

    assert loop.idle.network() < 0.001
    assert loop.idle.handlers() < 0.001


async def test_idle_metrics_are_the_share_of_time_in_which_the_loop_waits() -> None:
    loop = Loop()
    loop.run(0.03, 0.07, 600)

    assert loop.idle.network() == pytest.approx(0.7, abs=0.001)
    assert loop.idle.handlers() == pytest.approx(0.7, abs=0.001)


async def test_handlers_that_wait_for_something_else_are_not_idle() -> None:
    loop = Loop()
    loop.waiting.idle = 1
    loop.run(0.0, 0.1, 600)

    assert loop.idle.network() == 1.0
    assert loop.idle.handlers() == pytest.approx(0.25, abs=0.001)


async def test_a_changed_number_of_handlers_affects_only_later_idle_time() -> None:
    loop = Loop()
    loop.waiting.idle = 2
    loop.run(0.0, 0.1, 600)
    assert loop.idle.handlers() == pytest.approx(0.5, abs=0.001)

    loop.size = 2
    loop.idle.sample()
    assert loop.idle.handlers() == pytest.approx(0.5, abs=0.001)
    loop.run(0.0, 0.1, 600)
    assert loop.idle.handlers() == pytest.approx(1.0, abs=0.001)


async def test_idle_metrics_forget_load_older_than_their_window() -> None:
    loop = Loop()
    loop.run(0.1, 0.0, 600)
    loop.run(0.0, 0.1, 300)

    assert loop.idle.network() > 0.99


async def test_the_idle_time_of_a_plane_is_the_time_in_which_its_tasks_wait() -> None:
    """In real time: virtual time passes within a pass."""
    gate = trio.Event()

    @api(EchoRequest)
    def echo(request: EchoRequest, context: Context) -> EchoResponse:
        return EchoResponse(text=request.text)

    wait = waiting(gate.wait)

    world = RealWorld()
    settings = ListenerSettings(processors=2)
    async with asked_plane(world, [echo, wait], listener=settings, threads=2) as (plane, client):
        await client.ask(EchoRequest("x", 1), 0)
        budget, began = plane.budget, plane.budget.elapsed()
        idle_s, of_handlers_s = budget.idle_s, budget.handlers_idle_s
        parked_s = [processor.parked.sum_s for processor in plane.plane.processors]
        await client.send(request_frame(WaitRequest(1), 0))
        with trio.move_on_after(0.3):
            await client.receive_frame()
        sums_s = [processor.parked.sum_s for processor in plane.plane.processors]
        took_s = budget.elapsed() - began

        assert 0.5 * took_s < budget.idle_s - idle_s <= took_s
        # One of the two is in flight.
        assert budget.handlers_idle_s - of_handlers_s < 1.2 * (budget.idle_s - idle_s)
        for sum_s, before_s in zip(sums_s, parked_s, strict=True):
            assert 0.5 * took_s < sum_s - before_s <= took_s
        names = {name for _, node in plane.node.walk() for name in node.figures()}
        assert {"NetworkProcessorAvgIdlePercent", "RequestHandlerAvgIdlePercent"} <= names
        assert "IdlePercent" in names
        gate.set()
        await client.receive_answer(WaitResponse, 0)


async def test_idle_metrics_are_sampled_by_the_loop_without_reads() -> None:
    loop = Loop()
    loop.run(0.1, 0.0, 600)
    loop.run(0.0, EVERY_S, 300)

    assert loop.idle.network() > 0.99
