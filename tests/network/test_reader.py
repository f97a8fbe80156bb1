"""The reader: what has arrived is served within its share of the loop budget."""

import struct
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.network.echoing import echo, echoes, numbers, waiting
from trio_kafka.network.inflight import Stage, requests_in_flight, stage_of
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, api
from trio_kafka.testing.planes import RunningPlane, asked_plane, running_plane
from trio_kafka.testing.sample_apis import (
    EchoRequest,
    EchoResponse,
    WaitRequest,
)
from trio_kafka.testing.scripted_client import (
    ScriptedClient,
    connect,
    frame,
    request_frame,
)
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.protocols import PEER_DONE
from trio_kafka.world.real import RealWorld
from trio_kafka.world.simulated import Universe
from trio_kafka.world.world import World


@pytest.mark.parametrize("first", [WaitRequest(1), EchoRequest("x", 5)])
async def test_all_requests_are_served_when_every_turn_has_no_time_left(
    autojump_clock: MockClock, first: Any
) -> None:
    """Also a large frame behind a request that another task answers, while the reader sleeps."""

    wait = waiting(lambda: trio.sleep(1))

    world = Universe(room=1 << 20).machine("broker")
    settings = ListenerSettings(processors=1, receive_buffer=None)
    async with (
        asked_plane(world, [echo, wait], listener=settings, share_s=0.0) as (_, client),
        trio.open_nursery() as nursery,
    ):
        body = struct.pack(">hi", 0, 1)
        giant = frame(10100, 0, body + bytes(2_000_000), correlation=1)
        data = request_frame(first, 0) + giant + echoes(50, start=2)
        nursery.start_soon(client.send, data)

        await client.receive_frame()
        assert await numbers(client, 51) == list(range(1, 52))


async def test_a_peer_done_event_makes_the_connection_readable_and_queues_the_connection(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo]) as (plane, client):
        await client.ask(EchoRequest("x", 1), 0)
        (connection,) = plane.connections
        await wait_all_tasks_blocked()
        assert not connection.readable
        plane.processor.reader._note(connection.key, PEER_DONE)

        assert connection.readable
        assert connection.queued


async def test_the_reader_receives_all_requests_of_a_turn_before_sending_responses(
    autojump_clock: MockClock,
) -> None:
    """A peer is woken by its first answer; it is awake when the others come."""
    world = simulated_world()
    listener = ListenerSettings(processors=1)
    async with running_plane(world, [echo], listener=listener) as plane:
        clients = [await connect(world.network, plane.endpoint) for _ in range(3)]
        await wait_all_tasks_blocked()
        seen: list[str] = []
        rule = world.universe.fault

        def watch(machine: str, call: str, target: str) -> Any:
            task = trio.lowlevel.current_task().name
            if task.endswith("-reader") and call in ("receive", "send"):
                seen.append(call)
            return rule(machine, call, target)

        for client in clients:
            await client.send(echoes(1))
        world.universe.fault = watch
        autojump_clock.jump(1.0)  # all arrive before the reader looks
        assert [await numbers(client, 1) for client in clients] == [[0]] * 3

        assert seen == ["receive"] * 3 + ["send"] * 3
        for client in clients:
            client.socket.close()


class Steps(trio.abc.Instrument):
    """How often the reader has run."""

    def __init__(self) -> None:
        self.count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += task.name.endswith("-reader")


async def test_requests_that_arrive_while_others_are_served_are_served_in_the_same_turn() -> None:
    """To go round the loop costs more than a small request."""
    clients: list[ScriptedClient] = []

    @api(EchoRequest)
    def passing_on(request: EchoRequest, context: Context) -> EchoResponse:
        if request.number < 3:  # the next client asks just now
            clients[request.number + 1].socket.send(echoes(1, start=request.number + 1))
        return EchoResponse(text=request.text, number=request.number)

    world = RealWorld()  # a loopback delivers at once, which no simulated network does
    listener = ListenerSettings(processors=1)
    async with running_plane(world, [passing_on], listener=listener, share_s=1.0) as plane:
        clients += [await connect(world.network, plane.endpoint) for _ in range(4)]
        await wait_all_tasks_blocked()
        steps = Steps()
        trio.lowlevel.add_instrument(steps)
        await clients[0].send(echoes(1))
        answers = [await numbers(client, 1) for client in clients]
        trio.lowlevel.remove_instrument(steps)

        assert answers == [[0], [1], [2], [3]]
        assert steps.count == 1
        for client in clients:
            client.close()


async def three_at_once(
    world: World, plane: RunningPlane, clock: MockClock, text: str = "x"
) -> list[ScriptedClient]:
    """Clients whose requests, numbered from 0, the reader finds together."""
    clients = [await connect(world.network, plane.endpoint) for _ in range(3)]
    await wait_all_tasks_blocked()
    for number, client in enumerate(clients):
        await client.send(echoes(1, start=number, text=text))
    clock.jump(1.0)
    return clients


async def test_requests_received_together_show_as_queued_until_their_turn(
    autojump_clock: MockClock,
) -> None:
    seen: list[tuple[int, list[Stage]]] = []

    @api(EchoRequest)
    def looking(request: EchoRequest, context: Context) -> EchoResponse:
        others = [entry for entry in requests_in_flight([plane.processor]) if entry is not None]
        seen.append(
            (len(plane.processor.reader.receiver.received), [stage_of(other) for other in others])
        )
        return EchoResponse(text=request.text, number=request.number)

    world = simulated_world()
    listener = ListenerSettings(processors=1)
    async with running_plane(world, [looking], listener=listener, share_s=0.0) as plane:
        clients = await three_at_once(world, plane, autojump_clock)
        assert [await numbers(client, 1) for client in clients] == [[0], [1], [2]]
        for client in clients:
            client.close()

    # Those that look have left the queue only when they are answered.
    assert seen == [(2, []), (1, [Stage.QUEUED] * 2), (0, [Stage.QUEUED])]


async def test_requests_that_wait_for_their_turn_are_answered_while_the_plane_drains(
    autojump_clock: MockClock,
) -> None:
    @api(EchoRequest)
    def ending(request: EchoRequest, context: Context) -> EchoResponse:
        if request.number == 0:
            plane.processor.begin_draining()
        return EchoResponse(text=request.text, number=request.number)

    world = simulated_world()
    listener = ListenerSettings(processors=1)
    async with running_plane(world, [ending], listener=listener, share_s=0.0) as plane:
        clients = await three_at_once(world, plane, autojump_clock)
        assert [await numbers(client, 1) for client in clients] == [[0], [1], [2]]
        for client in clients:
            await client.wait_closed()

        assert plane.closed(CloseReason.DRAINED) == 3


async def test_a_connection_closed_while_its_request_waits_for_a_turn_releases_its_buffer(
    autojump_clock: MockClock,
) -> None:
    @api(EchoRequest)
    def closing(request: EchoRequest, context: Context) -> EchoResponse:
        if request.number == 0:
            plane.processor.table.close(plane.connections[1], CloseReason.GONE)
        return EchoResponse(text=request.text, number=request.number)

    world = simulated_world()
    listener = ListenerSettings(processors=1)
    async with running_plane(world, [closing], listener=listener) as plane:
        first, second, third = await three_at_once(world, plane, autojump_clock)
        assert [await numbers(client, 1) for client in (first, third)] == [[0], [2]]
        await wait_all_tasks_blocked()

        assert plane.buffers_out == 0
        for client in (first, second, third):
            client.close()


async def test_stopping_the_processor_releases_buffers_of_requests_waiting_for_their_turn(
    autojump_clock: MockClock,
) -> None:
    lengths: list[int] = []

    @api(EchoRequest)
    def stopping(request: EchoRequest, context: Context) -> EchoResponse:
        lengths.append(len(plane.processor.reader.receiver.received))
        plane.nursery.cancel_scope.cancel()
        return EchoResponse(text=request.text, number=request.number)

    world = simulated_world()
    listener = ListenerSettings(processors=1)
    async with running_plane(world, [stopping], listener=listener, share_s=0.0) as plane:
        await three_at_once(world, plane, autojump_clock, "x" * 2000)  # not copied
        await trio.sleep_forever()

    assert lengths == [2]
    assert plane.buffers_out == 0


async def test_the_waiting_time_of_requests_received_together_includes_earlier_handlers() -> None:
    """Quotas charge the time from its beginning on."""
    waited_s: list[float] = []

    @api(EchoRequest)
    def slow(request: EchoRequest, context: Context) -> EchoResponse:
        stamps = context.request.stamps
        waited_s.append(stamps.begun - stamps.received)
        end = world.clock.elapsed() + 0.002
        while world.clock.elapsed() < end:
            pass
        return EchoResponse(text=request.text, number=request.number)

    world = RealWorld()
    listener = ListenerSettings(processors=1)
    async with running_plane(world, [slow], listener=listener, share_s=1.0) as plane:
        clients = [await connect(world.network, plane.endpoint) for _ in range(3)]
        await wait_all_tasks_blocked()
        for number, client in enumerate(clients):
            client.socket.send(echoes(1, start=number))
        assert [await numbers(client, 1) for client in clients] == [[0], [1], [2]]
        for client in clients:
            client.close()

    assert [round(wait_s, 3) >= 0.002 * number for number, wait_s in enumerate(waited_s)] == [
        True
    ] * 3
