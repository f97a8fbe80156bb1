"""Waits in place: for whom much is moved, as long as nobody else runs."""

import socket
import struct
from collections.abc import Callable
from typing import Final

import trio
import trio.testing
from trio.testing import MockClock

from tests.network.test_processor import echo
from trio_kafka.model import Endpoint
from trio_kafka.network.lingering import ALONE_S, LONGEST_S, Lingering
from trio_kafka.plugin import Context, Encoded, api
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.testing.planes import asked_plane, running_plane, until
from trio_kafka.testing.sample_apis import EchoRequest
from trio_kafka.testing.scripted_client import request_frame
from trio_kafka.world.real import RealWorld

EDGE: Final = [(7, 1)]
SIZE: Final = 4 << 20
ANSWER: Final = Encoded(bytes(SIZE))  # made beforehand, or making it would be all of a turn


class Selector:
    """Gives what a test puts there, and keeps how long it would have waited."""

    def __init__(self) -> None:
        self.found = EDGE
        self.asked: list[float] = []

    def poll(self, timeout: float, limit: int) -> list[tuple[int, int]]:
        self.asked.append(timeout)
        return self.found


async def alone(budget: LoopBudget) -> None:
    """A pass of one task, long after the one before."""
    budget.begin_share()
    await trio.sleep(ALONE_S * 1.01)
    budget.after_io_wait(0)


def made() -> tuple[LoopBudget, Selector, Callable[[], object]]:
    budget, selector = LoopBudget(trio.current_time), Selector()
    lingering = Lingering(budget, selector.poll)
    return budget, selector, lambda: lingering.edges(64)


async def test_who_is_alone_waits_a_moment(autojump_clock: MockClock) -> None:
    budget, selector, edges = made()
    await alone(budget)
    await alone(budget)

    assert edges() == EDGE
    assert selector.asked == [LONGEST_S]


async def test_who_had_company_lately_does_not_wait(autojump_clock: MockClock) -> None:
    budget, selector, edges = made()
    await alone(budget)
    await alone(budget)
    budget.begin_share()
    budget.begin_share()
    budget.after_io_wait(0)
    assert edges() == EDGE

    budget.begin_share()
    budget.after_io_wait(0)
    assert edges() == EDGE
    assert selector.asked == [0, 0]

    await alone(budget)
    assert edges() == EDGE
    assert selector.asked == [0, 0, LONGEST_S]


async def test_once_in_vain_ends_it_for_a_while(autojump_clock: MockClock) -> None:
    budget, selector, edges = made()
    await alone(budget)
    await alone(budget)
    selector.found = []
    assert edges() == []
    selector.found = EDGE

    assert edges() == EDGE
    await alone(budget)
    assert edges() == EDGE
    assert selector.asked == [LONGEST_S, 0, LONGEST_S]


@api(EchoRequest)
def much(request: EchoRequest, context: Context) -> Encoded:
    return ANSWER


def read_much(address: Endpoint) -> int:
    """Ask and read in a thread of one's own, as a client elsewhere does."""
    with socket.create_connection((address.host, address.port)) as peer:
        peer.sendall(request_frame(EchoRequest("x", 1), 0))
        (size,) = struct.unpack(">i", peer.recv(4, socket.MSG_WAITALL))
        return len(peer.recv(size, socket.MSG_WAITALL))


async def test_a_large_answer_to_one_who_reads_is_waited_for_in_place() -> None:
    world = RealWorld()
    async with running_plane(world, [much], share_s=0.05) as plane:
        await trio.to_thread.run_sync(read_much, plane.endpoint)
        await trio.sleep_until(plane.budget.shared + 2 * ALONE_S)
        before = plane.budget.passes

        assert await trio.to_thread.run_sync(read_much, plane.endpoint) > SIZE

        assert plane.processor.figures()["waits_in_place"] > 0
        assert plane.budget.passes - before < SIZE / (100 << 10)


async def test_one_who_does_not_read_is_not_waited_for_twice() -> None:
    world = RealWorld()
    async with asked_plane(world, [much], share_s=0.05) as (plane, client):
        await until(lambda: len(plane.connections) == 1)
        await trio.sleep_until(plane.budget.shared + 2 * ALONE_S)

        await client.send(request_frame(EchoRequest("x", 1), 0))
        await until(lambda: plane.connections[0].out is not None)
        await trio.testing.wait_all_tasks_blocked(0.01)

        figures = plane.processor.figures()
        assert figures["waits_in_place"] == figures["in_vain"] <= 1


async def test_small_requests_are_never_waited_for_in_place() -> None:
    world = RealWorld()
    async with asked_plane(world, [echo]) as (plane, client):
        await until(lambda: len(plane.connections) == 1)
        await trio.sleep_until(plane.budget.shared + 2 * ALONE_S)
        for number in range(20):
            await client.ask(EchoRequest("x", number), 0)

        assert plane.processor.figures()["waits_in_place"] == 0
