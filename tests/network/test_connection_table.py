"""Connections come and go; why they go is counted."""

from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.network.closed_connections import MOST
from trio_kafka.network.connection import Connection
from trio_kafka.network.connection_table import ConnectionTable
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.wire.frame import Buffers, Framer
from trio_kafka.world.memory import new_buffer
from trio_kafka.world.world import World


async def connections(world: World, count: int) -> list[Connection]:
    listener = await world.network.listen("127.0.0.1", 0)
    buffers = Buffers(new_buffer)
    result = []
    owner: Any = SimpleNamespace(listener=ListenerSettings())
    for _ in range(count):
        socket = await world.network.connect("127.0.0.1", listener.address.port)
        result.append(Connection(socket, owner, Framer(buffers, 1000)))
    return result


async def test_waiters_of_the_table_wake_at_the_first_connection_and_after_the_last(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    world = simulated_world()
    node, counters = Node("plane", "plane"), Counters()
    roster = ConnectionTable(world.network.selector(), counters, "PLAINTEXT", node)
    events: list[str] = []

    async def watch() -> None:
        await roster.wait_occupied()
        events.append("occupied")
        await roster.wait_empty()
        events.append("empty")

    nursery.start_soon(watch)
    first, second = await connections(world, 2)
    roster.add(first)
    roster.add(second)
    await wait_all_tasks_blocked()
    assert events == ["occupied"]
    assert len(node.children) == 2

    roster.close(first, CloseReason.IDLE)
    roster.close(first, CloseReason.GONE)
    roster.close(second, CloseReason.GONE, "why", reset=True)
    await wait_all_tasks_blocked()

    assert events == ["occupied", "empty"]
    assert node.children == ()
    assert counters.total("connections_closed") == 2
    assert counters.value("connections_closed", listener="PLAINTEXT", reason=CloseReason.IDLE) == 1


async def test_closing_a_connection_keeps_its_frame_only_while_a_handler_reads_the_frame(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    roster = ConnectionTable(
        world.network.selector(), Counters(), "PLAINTEXT", Node("plane", "plane")
    )
    served, idle, waiting = await connections(world, 3)
    dropped: list[str] = []
    served.parked = lambda: dropped.append("served")
    for connection, muted in (
        (served, MuteReason.IN_FLIGHT),
        (idle, 0),
        (waiting, MuteReason.IN_FLIGHT | MuteReason.CHANNEL_FULL),
    ):
        connection.framer.room()[:4] = bytes([0, 0, 0, 10])
        connection.framer.received(5)
        connection.muted = muted
        roster.add(connection)
        roster.close(connection, CloseReason.GONE)

    assert dropped == ["served"]
    assert [peer.framer.held > 0 for peer in (served, idle, waiting)] == [True, False, False]


async def test_table_remembers_the_connections_that_were_closed_last(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    table = ConnectionTable(
        world.network.selector(), Counters(), "PLAINTEXT", Node("plane", "plane")
    )
    closing = await connections(world, MOST + 2)
    for connection in closing:
        table.add(connection)
    await trio.sleep(5)

    for connection in closing:
        connection.requests = connection.origin.number
        table.close(connection, CloseReason.BAD_FRAME, "x" * 1000)
        table.close(connection, CloseReason.GONE)

    assert [closed.requests for closed in table.recently_closed] == list(range(2, MOST + 2))
    newest = table.recently_closed[-1]
    assert newest.origin is closing[-1].origin
    assert (newest.reason, len(newest.detail)) == ("bad frame", 256)
    assert newest.at == trio.current_time()
    assert newest.since is None  # it never had a slot


async def test_flood_of_connections_in_error_is_logged_as_a_number(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    world = simulated_world()
    node, counters = Node("plane", "plane"), Counters()
    table = ConnectionTable(world.network.selector(), counters, "PLAINTEXT", node)
    caplog.set_level("WARNING", "trio_kafka")

    for pause_s in (0.0, 2.0):
        await trio.sleep(pause_s)
        for connection in await connections(world, 50):
            table.add(connection)
            table.close(connection, CloseReason.BAD_FRAME, "bytes of a stranger")

    others = [vars(record)["fields"].get("others") for record in caplog.records]
    assert others == [*[None] * 20, 30, *[None] * 19]
    assert sum(counters.figures().values()) == 100
