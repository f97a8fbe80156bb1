"""Limits of connections that still shake hands: they count, and are evicted, like others."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from tests.certificates import serving
from tests.network.echoing import echo, echoes, numbers
from tests.network.secured import secured
from trio_kafka.network.admission.listener_admission import TOO_MANY
from trio_kafka.network.listener_tls import ListenerTls
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.quotas.connection import ConnectionBounds, ListenerBounds
from trio_kafka.security.tls.contexts import server_identity
from trio_kafka.security.tls.handshake import HANDSHAKE_S
from trio_kafka.security.tls.principal_rules import PrincipalRules
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.scripted_client import ScriptedClient, connect
from trio_kafka.testing.simulation import simulated_world

OUTSIDE = ListenerSettings(name="OUTSIDE", security_protocol="SSL", processors=1)
INSIDE = ListenerSettings(name="INSIDE", security_protocol="SSL", processors=1)


class Crowd:
    """Clients of a plane with two listeners, the inner of which is protected."""

    def __init__(self, plane: RunningPlane) -> None:
        self.plane = plane
        self.clients: list[ScriptedClient] = []

    async def begin(self, *, inside: bool = False) -> ScriptedClient:
        """Connect without a byte of a handshake."""
        endpoint = self.plane.others[0] if inside else self.plane.endpoint
        client = await connect(self.plane.world.network, endpoint)
        await trio.sleep(0.1)
        return self.add(client)

    async def serve(self, *, inside: bool = False) -> ScriptedClient:
        """Connect, shake hands and be answered."""
        endpoint = self.plane.others[0] if inside else self.plane.endpoint
        client = self.add(await secured(self.plane.world, endpoint))
        await client.send(echoes(1))
        assert await numbers(client, 1) == [0]
        await trio.sleep(0.1)
        return client

    def add(self, client: ScriptedClient) -> ScriptedClient:
        self.clients.append(client)
        return client

    @property
    def total(self) -> int:
        return self.plane.limits.accounts.total

    def evicted(self) -> int:
        return self.plane.counters.value(
            "connections_closed", listener="OUTSIDE", reason=CloseReason.EXCEEDED
        )


@asynccontextmanager
async def crowd(bounds: ConnectionBounds) -> AsyncIterator[Crowd]:
    world = simulated_world()
    identity = server_identity(serving())
    tls = {name: ListenerTls(identity, PrincipalRules()) for name in ("OUTSIDE", "INSIDE")}
    async with running_plane(
        world, [echo], listener=OUTSIDE, more=[INSIDE], protected=["INSIDE"], tls=tls
    ) as plane:
        plane.limits.obey(bounds)
        at = Crowd(plane)
        yield at
        for client in at.clients:
            client.close()
        await trio.sleep(1)
        assert at.total == 0
        assert plane.limits.accounts.addresses == {}
        assert world.descriptors.sockets == 0


def is_open(client: ScriptedClient) -> bool:
    """The server has not ended it. Takes what has arrived, such as a close_notify."""
    try:
        while client.socket.beneath.receive_into(bytearray(1000)):
            pass
    except BlockingIOError:
        return True
    except ConnectionError:
        pass
    return False


async def test_handshakes_take_places_of_the_broker_until_they_end(
    autojump_clock: MockClock,
) -> None:
    async with crowd(ConnectionBounds(connections=2)) as at:
        for _ in range(2):
            await at.begin()
        assert at.total == 2
        began = trio.current_time()

        await at.serve()  # waits in the kernel's queue

        assert HANDSHAKE_S - 1 < trio.current_time() - began < HANDSHAKE_S + 1
        assert at.evicted() == 0


async def test_handshakes_take_places_of_their_listener(autojump_clock: MockClock) -> None:
    bounds = ConnectionBounds(listeners={"OUTSIDE": ListenerBounds(connections=1)})
    async with crowd(bounds) as at:
        await at.begin()
        began = trio.current_time()
        await at.serve(inside=True)
        assert trio.current_time() - began < 1

        await at.serve()
        assert trio.current_time() - began > HANDSHAKE_S - 1


async def test_handshakes_count_for_the_limit_of_their_address(autojump_clock: MockClock) -> None:
    async with crowd(ConnectionBounds(per_address=2)) as at:
        first = [await at.begin() for _ in range(2)]
        late = await at.begin()

        assert not is_open(late)
        assert [is_open(client) for client in first] == [True, True]
        refused = at.plane.counters.value(
            "connections_refused", listener="OUTSIDE", reason=TOO_MANY
        )
        assert refused == 1


async def test_a_broker_evicts_the_handshake_that_is_silent_for_longest(
    autojump_clock: MockClock,
) -> None:
    async with crowd(ConnectionBounds(connections=3)) as at:
        silent = await at.begin()
        younger = await at.begin()
        used = await at.serve()

        await at.serve(inside=True)

        assert [is_open(client) for client in (silent, younger, used)] == [False, True, True]
        assert at.evicted() == 1
        assert at.total == 3
        (figures,) = [
            node.figures()
            for _, node in at.plane.node.walk()
            if node.name == "handshakes" and "OUTSIDE" in node.path
        ]
        assert figures["evicted"] == 1


async def test_the_place_of_an_evicted_handshake_is_free_at_once(
    autojump_clock: MockClock,
) -> None:
    """Or the next look would find too many connections, and close another one."""
    async with crowd(ConnectionBounds()) as at:
        await at.begin()
        (slot,) = at.plane.limits.listeners[0].slots
        assert slot.connection is not None
        slot.connection.close(CloseReason.EXCEEDED)
        assert at.total == 0

        await trio.sleep(1)
        assert at.evicted() == 1
        assert slot.connection is None


async def test_a_connection_that_is_older_than_a_handshake_is_evicted_first(
    autojump_clock: MockClock,
) -> None:
    async with crowd(ConnectionBounds(connections=2)) as at:
        idle = await at.serve()
        silent = await at.begin()

        await at.serve(inside=True)

        assert not is_open(idle)
        assert is_open(silent)


async def test_a_step_of_a_handshake_counts_as_use(autojump_clock: MockClock) -> None:
    async with crowd(ConnectionBounds(connections=2)) as at:
        older = await at.begin()
        younger = await at.begin()
        await older.send(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a ClientHello
        await trio.sleep(0.1)

        await at.serve(inside=True)

        assert [is_open(client) for client in (older, younger)] == [True, False]


async def test_handshakes_of_the_protected_listener_are_not_evicted(
    autojump_clock: MockClock,
) -> None:
    bounds = ConnectionBounds(connections=2, listeners={"INSIDE": ListenerBounds(connections=9)})
    async with crowd(bounds) as at:
        inner = [await at.begin(inside=True) for _ in range(3)]
        await trio.sleep(1)

        assert [is_open(client) for client in inner] == [True] * 3
        assert at.total == 3


async def test_a_handshake_that_has_failed_is_not_evicted_twice(autojump_clock: MockClock) -> None:
    """Its socket stays open for a moment, so that the alert arrives."""
    async with crowd(ConnectionBounds(connections=1)) as at:
        failed = await at.begin()
        await failed.send(b"GET / HTTP/1.1\r\n\r\n")
        await trio.sleep(0.01)
        assert at.total == 1

        await at.serve(inside=True)

        assert at.evicted() == 0
        assert at.total == 1


@pytest.mark.parametrize("most", [0, 1])
async def test_a_lower_limit_closes_handshakes_too(autojump_clock: MockClock, most: int) -> None:
    async with crowd(ConnectionBounds()) as at:
        for _ in range(5):
            await at.begin()
        at.plane.limits.obey(ConnectionBounds(connections=most))
        await trio.sleep(1)

        assert [is_open(client) for client in at.clients] == [False] * (5 - most) + [True] * most
        assert at.evicted() == 5 - most
