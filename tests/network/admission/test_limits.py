"""Limits of connections, on a plane in the simulated world: at, below and above each of them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.network.echoing import waiting
from trio_kafka.network.admission.listener_admission import TOO_FAST, TOO_MANY
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, api
from trio_kafka.quotas.connection import ConnectionBounds, ListenerBounds
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest
from trio_kafka.testing.scripted_client import ScriptedClient, frame, request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.real import RealWorld
from trio_kafka.world.simulated import SimulatedWorld

OUTSIDE = ListenerSettings(name="OUTSIDE", host="", processors=2, backlog=2000)
INSIDE = ListenerSettings(name="INSIDE", host="", processors=1)


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text, number=request.number)


wait = waiting(lambda: trio.sleep(1.0), parked=True)


class Room:
    """A plane with two listeners, and machines that connect to it."""

    def __init__(self, world: SimulatedWorld, plane: RunningPlane) -> None:
        self.world = world
        self.plane = plane
        self.limits = plane.limits
        self.clients: list[ScriptedClient] = []

    async def connect(self, machine: str = "client", *, inside: bool = False) -> ScriptedClient:
        machines = self.world.universe.machines
        world = machines.get(machine) or self.world.universe.machine(machine)
        port = (self.plane.others[0] if inside else self.plane.endpoint).port
        client = ScriptedClient(await world.network.connect("broker", port))
        self.clients.append(client)
        return client

    async def served(self, machine: str = "client", *, inside: bool = False) -> ScriptedClient:
        """A connection that has been answered."""
        client = await self.connect(machine, inside=inside)
        await ask(client)
        return client

    async def settle(self) -> None:
        """Wait until all that was sent has arrived."""
        await trio.sleep(0.5)

    def check(self) -> None:
        """Check that the counts are those of the connections."""
        limits, accounts = self.limits, self.limits.accounts
        slots = [slot for gate in limits.listeners for slot in gate.slots]
        assert accounts.total == len(slots)
        assert all(gate.account.count == len(gate.slots) for gate in limits.listeners)
        assert sum(accounts.addresses.values()) == len(slots)
        there = [slot.connection for slot in slots if slot.connection is not None]
        assert {id(connection) for connection in there} == {
            id(connection) for connection in self.plane.connections
        }

    @property
    def open(self) -> list[bool]:
        return [is_open(client) for client in self.clients]


async def ask(client: ScriptedClient) -> None:
    assert (await client.ask(EchoRequest("x", 7), 0)).number == 7


def is_open(client: ScriptedClient) -> bool:
    """The server has not ended it; only for clients that wait for nothing."""
    try:
        return client.socket.receive_into(bytearray(1)) != 0
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@asynccontextmanager
async def room(
    *,
    protected: tuple[str, ...] = ("INSIDE",),
    memory: int | None = None,
    seed: int = 0,
    **bounds: Any,
) -> AsyncIterator[Room]:
    world = simulated_world(seed=seed)
    async with running_plane(
        world,
        [echo, wait],
        listener=OUTSIDE,
        more=[INSIDE],
        protected=protected,
        memory=memory,
    ) as plane:
        checked_room = Room(world, plane)
        plane.limits.obey(ConnectionBounds(**bounds))
        yield checked_room
        checked_room.check()


# --- places


async def test_a_connection_above_the_broker_limit_waits_until_another_closes(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    async with room(connections=3) as at:
        first, *_ = [await at.served() for _ in range(3)]
        late = await at.connect()
        answered = trio.Event()

        async def wait_answer() -> None:
            await ask(late)
            answered.set()

        nursery.start_soon(wait_answer)
        await trio.sleep(60)
        assert not answered.is_set()
        assert at.limits.figures()["waiting"] == 1

        first.close()
        await answered.wait()
        await at.settle()

        assert at.limits.accounts.total == 3
        assert at.limits.figures()["waiting"] == 0


async def test_a_connection_above_the_limit_of_its_listener_waits_while_other_listeners_accept(
    autojump_clock: MockClock,
) -> None:
    async with room(connections=9, listeners={"OUTSIDE": ListenerBounds(connections=1)}) as at:
        await at.served()
        late = await at.connect()
        await at.served(inside=True)
        with trio.move_on_after(5) as scope:
            await ask(late)
        assert scope.cancelled_caught

        at.limits.obey(ConnectionBounds(connections=9))
        await trio.sleep(1)

        assert at.limits.accounts.total == 3


async def test_waiting_connections_are_admitted_in_order_across_listeners(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    async with room(protected=(), connections=2) as at:
        first, second = await at.served(), await at.served(inside=True)
        let_in: list[str] = []

        async def come(name: str, *, inside: bool) -> None:
            client = await at.connect(inside=inside)
            await ask(client)
            let_in.append(name)

        nursery.start_soon(lambda: come("inside", inside=True))
        await trio.sleep(1)
        nursery.start_soon(lambda: come("outside", inside=False))
        await trio.sleep(1)
        first.close()
        await trio.sleep(1)
        assert let_in == ["inside"]

        second.close()
        await trio.sleep(1)

        assert let_in == ["inside", "outside"]


async def test_a_connection_waiting_at_its_listener_limit_does_not_delay_other_listeners(
    autojump_clock: MockClock,
) -> None:
    limits = {"INSIDE": ListenerBounds(connections=1)}
    async with room(protected=(), connections=5, listeners=limits) as at:
        await at.served(inside=True)
        await at.connect(inside=True)
        await at.settle()

        for _ in range(4):
            await at.served()


# --- the listener of the brokers


async def test_a_broker_connection_above_the_limit_evicts_the_least_recently_used_client(
    autojump_clock: MockClock,
) -> None:
    own = {"INSIDE": ListenerBounds()}
    async with room(connections=3, listeners=own) as at:
        clients = [await at.served() for _ in range(3)]
        for number in (1, 0):
            await trio.sleep(1)
            await ask(clients[number])
        await at.served(inside=True)
        await at.settle()
        assert at.open == [True, True, False, True]

        await at.served(inside=True)
        await at.settle()
        assert at.open == [True, False, False, True, True]

        assert (
            at.plane.counters.value(
                "connections_closed", listener="OUTSIDE", reason="max connections"
            )
            == 2
        )


async def test_connections_of_the_protected_listener_are_not_evicted_for_each_other(
    autojump_clock: MockClock,
) -> None:
    own = {"INSIDE": ListenerBounds()}
    async with room(connections=2, listeners=own) as at:
        for _ in range(5):
            await at.served(inside=True)
        await trio.sleep(5)
        assert at.open == [True] * 5

        late = await at.connect()
        with trio.move_on_after(5) as scope:
            await ask(late)
        assert scope.cancelled_caught
        assert at.limits.accounts.excess == 3


async def test_connections_of_the_broker_listener_are_evicted_when_the_listener_is_not_protected(
    autojump_clock: MockClock,
) -> None:
    async with room(protected=()) as at:
        await at.served(inside=True)
        await trio.sleep(1)
        await at.served()

        at.limits.obey(ConnectionBounds(connections=1))
        await at.settle()

        assert at.open == [False, True]


@pytest.mark.slow
async def test_lowering_the_limit_closes_the_least_recently_used_connections(
    autojump_clock: MockClock,
) -> None:
    async with room() as at:
        for number in range(250):
            await at.served()
            if number % 50 == 49:
                await trio.sleep(1)
        at.limits.obey(ConnectionBounds(connections=50))
        await at.settle()

        assert at.open == [False] * 200 + [True] * 50


async def test_an_old_connection_with_a_recent_request_is_not_evicted(
    autojump_clock: MockClock,
) -> None:
    async with room() as at:
        old, other = await at.served(), await at.served()
        await trio.sleep(1)
        await ask(old)
        await at.settle()
        at.limits.obey(ConnectionBounds(connections=1))
        await at.settle()

        assert [is_open(old), is_open(other)] == [True, False]


# --- addresses


@pytest.mark.slow
@pytest.mark.parametrize("count", [99, 100, 101, 1000])
async def test_connections_of_an_address_above_its_limit_are_refused(
    autojump_clock: MockClock, count: int
) -> None:
    async with room(per_address=100) as at:
        async with trio.open_nursery() as nursery:
            for _ in range(count):
                nursery.start_soon(at.connect, "crowd")
        await at.settle()
        refused = max(0, count - 100)
        assert sum(at.open) == min(count, 100)
        assert at.limits.accounts.addresses == {"crowd": min(count, 100)}
        assert (
            at.plane.counters.value("connections_refused", listener="OUTSIDE", reason=TOO_MANY)
            == refused
        )

        await at.served("other")
        for client in at.clients:
            client.close()
        await at.settle()

        assert at.limits.accounts.addresses == {}
        assert (await at.served("crowd")) is not None


async def test_an_override_raises_or_lowers_the_connection_limit_of_an_address(
    autojump_clock: MockClock,
) -> None:
    async with room() as at:
        for name in ("friend", "enemy"):
            at.world.universe.machine(name)
        at.limits.obey(ConnectionBounds(per_address=1, addresses={"friend": 3, "enemy": 0}))
        await at.settle()  # names are looked up
        for name, most in (("friend", 3), ("enemy", 0), ("other", 1)):
            clients = [await at.connect(name) for _ in range(4)]
            await at.settle()
            assert [is_open(client) for client in clients] == [True] * most + [False] * (4 - most)


async def test_overrides_apply_at_once_to_addresses_and_to_host_names_already_resolved(
    autojump_clock: MockClock,
) -> None:
    async with room() as at:
        await at.connect("friend")
        hosts = {"friend": 5, "::ffff:10.0.0.1": 6}
        at.limits.obey(ConnectionBounds(addresses=hosts))
        assert at.limits.accounts.bounds.addresses == {"10.0.0.1": 6}
        await at.settle()

        at.limits.obey(ConnectionBounds(addresses=hosts, connections=9))

        assert at.limits.accounts.bounds.addresses == {"friend": 5, "10.0.0.1": 6}
        assert at.limits.accounts.bounds.connections == 9


# --- rates


@pytest.mark.parametrize(
    ("count", "least_s", "most_s"), [(100, 0, 1), (101, 0.09, 1), (140, 4, 13)]
)
async def test_connections_above_the_accept_rate_of_the_broker_are_delayed(
    autojump_clock: MockClock, count: int, least_s: float, most_s: float
) -> None:
    """100 at once are 10 a second over the 10 windows that count as gone by. Later ones wait up to
    a window each, until the first of these windows are over: so Kafka has it.
    """
    async with room(rate=10) as at:
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for _ in range(count):
                nursery.start_soon(at.served)
        took = trio.current_time() - began

        assert least_s <= took <= most_s
        gate = at.limits.listeners[0]
        throttled = gate.figures()["connection-accept-throttle-time"]
        assert (throttled is None) == (count <= 100)


async def test_the_accept_rate_of_the_broker_does_not_delay_the_protected_listener(
    autojump_clock: MockClock,
) -> None:
    own = {"INSIDE": ListenerBounds()}
    async with room(rate=1, listeners=own) as at:
        began = trio.current_time()
        for _ in range(50):
            await at.served(inside=True)
        assert trio.current_time() - began < 1


async def test_a_connection_above_the_rate_of_its_address_is_closed_after_a_delay(
    autojump_clock: MockClock,
) -> None:
    async with room() as at:
        at.limits.set_ip_rate("crowd", 2)
        for _ in range(20):
            await at.served("crowd")
        late = await at.connect("crowd")
        began = trio.current_time()
        await at.served("other")
        assert at.limits.figures()["held"] == 1
        assert at.limits.accounts.addresses["crowd"] == 20

        assert await late.wait_closed()

        assert 0.1 < trio.current_time() - began <= 1.01
        assert at.limits.figures()["held"] == 0
        assert (
            at.plane.counters.value("connections_refused", listener="OUTSIDE", reason=TOO_FAST) == 1
        )
        at.limits.set_ip_rate("crowd", None)
        await at.served("crowd")


async def test_the_default_ip_rate_limits_each_address_separately(
    autojump_clock: MockClock,
) -> None:
    async with room() as at:
        at.limits.set_ip_rate(None, 1)
        for name in ("one", "two"):
            clients = [await at.connect(name) for _ in range(12)]
            await at.settle()
            await trio.sleep(1)
            assert sum(map(is_open, clients)) == 10


# --- storms


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_every_slot_is_free_after_a_storm_of_reconnects(
    autojump_clock: MockClock, seed: int
) -> None:
    async with room(seed=seed, connections=20, per_address=10, rate=200) as at:
        chance = at.world.universe.chance("storm")
        at.limits.set_ip_rate("hasty", 5)

        async def storm(name: str) -> None:
            inside = chance.random() < 0.2
            for _ in range(10):
                client = await at.connect(name, inside=inside)
                fate = chance.randrange(4)
                try:
                    if fate:
                        await client.send(request_frame(EchoRequest("x", 1), 0))
                    if fate > 1:
                        with trio.move_on_after(chance.random() * 3):
                            await client.receive_frame()
                except (ConnectionError, EOFError):
                    pass
                await trio.sleep(chance.random())
                client.socket.abort() if fate == 3 else client.close()

        async with trio.open_nursery() as nursery:
            for number in range(40):
                nursery.start_soon(storm, ("crowd", "hasty", f"one-{number}")[number % 3])
        await trio.sleep(5)
        at.check()

        assert at.limits.accounts.total == 0
        assert at.limits.accounts.addresses == {}
        await at.served("late")


# --- every place is given back


async def leave(at: Room, client: ScriptedClient) -> None:
    client.close()


async def reset(at: Room, client: ScriptedClient) -> None:
    client.socket.abort()


async def send_garbage(at: Room, client: ScriptedClient) -> None:
    await client.send(b"\xff" * 20)


async def ask_the_unknown(at: Room, client: ScriptedClient) -> None:
    await client.send(frame(9999, 0))


async def send_nonsense(at: Room, client: ScriptedClient) -> None:
    await client.send(frame(10100, 0, b"\xff\xff"))


async def leave_in_a_frame(at: Room, client: ScriptedClient) -> None:
    await client.send(b"\0\0\1\0abc")
    await at.settle()
    client.close()


async def leave_while_served(at: Room, client: ScriptedClient) -> None:
    await client.send(request_frame(WaitRequest(), 0))
    await at.settle()
    client.close()


async def reset_while_served(at: Room, client: ScriptedClient) -> None:
    await client.send(request_frame(WaitRequest(), 0))
    await at.settle()
    client.socket.abort()


async def be_idle(at: Room, client: ScriptedClient) -> None:
    await trio.sleep(OUTSIDE.idle_s * 1.2)


async def be_lowered(at: Room, client: ScriptedClient) -> None:
    at.limits.obey(ConnectionBounds(connections=0))


async def be_drained(at: Room, client: ScriptedClient) -> None:
    await at.plane.plane.drain(trio.current_time() + 5)


async def be_removed(at: Room, client: ScriptedClient) -> None:
    at.plane.plane.remove("OUTSIDE")


async def be_retired(at: Room, client: ScriptedClient) -> None:
    for processor in at.plane.plane.listeners["OUTSIDE"].all_processors:
        processor.begin_draining()


@pytest.mark.parametrize(
    "end",
    [
        leave,
        reset,
        send_garbage,
        ask_the_unknown,
        send_nonsense,
        leave_in_a_frame,
        leave_while_served,
        reset_while_served,
        be_idle,
        be_lowered,
        be_drained,
        be_removed,
        be_retired,
    ],
)
async def test_the_slot_of_a_connection_is_free_however_the_connection_ends(
    autojump_clock: MockClock, end: Callable[[Room, ScriptedClient], Any]
) -> None:
    async with room() as at:
        client = await at.served()
        assert at.limits.accounts.total == 1

        await end(at, client)
        await trio.sleep(3)

        assert at.limits.accounts.total == 0
        assert at.limits.accounts.addresses == {}
        at.check()


async def test_a_cancelled_plane_frees_all_slots_and_closes_all_connections(
    autojump_clock: MockClock,
) -> None:
    async with room(connections=5) as at:
        at.limits.set_ip_rate("hasty", 0)
        await at.connect("hasty")
        for _ in range(8):
            await at.connect()
        await at.settle()
        assert at.limits.accounts.total == 5
        assert len(at.limits._delayed) == 1
    assert at.limits.accounts.total == 0
    assert at.limits.listeners == []
    assert len(at.limits._delayed) == 0
    await at.settle()
    assert not any(at.open)


async def test_a_connection_refused_by_its_processor_is_closed_and_frees_its_slot(
    autojump_clock: MockClock,
) -> None:
    async with room() as at:
        for processor in at.plane.plane.processors:
            processor.new_connections.refusing = True  # what it takes it closes
        await at.connect()
        await at.settle()

        assert at.limits.accounts.total == 0
        assert at.open == [False]


async def test_connections_of_a_removed_listener_count_until_they_are_closed(
    autojump_clock: MockClock,
) -> None:
    async with room(connections=2) as at:
        client = await at.served()
        await client.send(request_frame(WaitRequest(), 0))
        await at.settle()
        at.plane.plane.remove("OUTSIDE")
        await trio.sleep(0)
        assert at.limits.accounts.total == 1
        await trio.sleep(0.1)
        assert [gate.name for gate in at.limits.listeners] == ["INSIDE", "OUTSIDE"][::-1]

        await trio.sleep(2)

        assert [gate.name for gate in at.limits.listeners] == ["INSIDE"]
        assert at.limits.accounts.total == 0


async def test_connection_metrics_have_the_names_and_values_of_kafka(
    autojump_clock: MockClock,
) -> None:
    async with room(connections=7, per_address=5, listeners={"INSIDE": ListenerBounds()}) as at:
        for _ in range(3):
            await at.served("crowd")

        figures, gate = at.limits.figures(), at.limits.listeners[0]
        assert gate.name == "OUTSIDE"

        assert figures["connections"] == gate.figures()["connections"] == 3
        assert figures["max_connections"] == gate.figures()["max_connections"] == 7
        assert figures["max_connections_per_ip"] == 5
        assert figures["most_of_an_address"] == 3
        assert figures["broker-connection-accept-rate"] == pytest.approx(0.3, rel=0.02)
        assert gate.figures()["connection-accept-rate"] == pytest.approx(0.3, rel=0.02)
        assert gate.figures()["ip-connection-accept-throttle-time"] is None
        assert at.limits.listeners[1].figures()["max_connections"] is None


async def test_an_ipv4_address_and_its_mapped_ipv6_address_share_one_limit() -> None:
    world = RealWorld()
    settings = ListenerSettings(host="", processors=2)  # IPv4 comes as IPv6
    async with running_plane(world, [echo], listener=settings) as plane:
        plane.limits.obey(ConnectionBounds(per_address=0, addresses={"localhost": 3}))
        port = plane.endpoint.port
        with trio.fail_after(10):
            while "127.0.0.1" not in plane.limits.accounts.bounds.addresses:
                await trio.sleep(0.01)
            clients = [
                ScriptedClient(await world.network.connect("127.0.0.1", port)) for _ in "123"
            ]
            for client in clients:
                await ask(client)
            late = ScriptedClient(await world.network.connect("127.0.0.1", port))
            await late.wait_closed()
            assert plane.limits.accounts.addresses == {"127.0.0.1": 3}

            for client in (*clients, late):
                client.close()
            while plane.limits.accounts.total:
                await trio.sleep(0.01)
