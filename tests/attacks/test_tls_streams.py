"""Random and damaged byte streams at a listener with TLS: nothing leaks, and others are served."""

from collections.abc import Callable
from random import Random

import pytest
import trio
from trio.testing import MockClock

from tests.attacks.kept import check_flat
from tests.certificates import serving, trusting
from tests.network.echoing import echo, echoes, numbers
from tests.network.secured import secured
from trio_kafka.network.listener_tls import ListenerTls
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.security.tls.contexts import client_context, server_identity
from trio_kafka.security.tls.principal_rules import PrincipalRules
from trio_kafka.security.tls.socket import TlsSocket, new_arrival_buffer
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.protocols import Socket
from trio_kafka.world.world import World

SSL = ListenerSettings(name="SSL", security_protocol="SSL", processors=1)
TOGETHER = 20


class Damaging:
    """A socket that changes, repeats or drops some of the bytes that are sent through it."""

    def __init__(self, socket: Socket, random: Random) -> None:
        self.socket = socket
        self.random = random
        self.receive_into = socket.receive_into

    def send(self, data: bytes) -> int:
        damaged = bytearray(data)
        kind = self.random.randrange(4)
        at = self.random.randrange(len(damaged))
        if kind == 0:
            damaged[at] ^= 1 << self.random.randrange(8)
        elif kind == 1:
            damaged[at:at] = damaged[: self.random.randrange(100)]
        elif kind == 2:
            del damaged[at:]
        if damaged:
            self.socket.send(bytes(damaged))
        return len(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self.socket, name)


async def attack(world: World, plane: RunningPlane, random: Random) -> None:
    """One connection: garbage, or a client whose bytes are damaged, at any time."""
    plain = await world.network.connect(plane.endpoint.host, plane.endpoint.port)
    try:
        if random.random() < 0.3:
            head = random.choice([b"", b"\x16\x03\x01", b"\x17\x03\x03", b"\x80\x80"])
            plain.send(head + random.randbytes(random.randrange(1, 2000)))
        else:
            await damaged_client(plain, random)
    except OSError:
        pass
    finally:
        if random.random() < 0.5:
            plain.close()
        else:
            plain.abort()


async def damaged_client(plain: Socket, random: Random) -> None:
    """Shake hands and send requests, some bytes of which are damaged."""
    context = CONTEXTS[random.randrange(2)]
    is_late = random.random() < 0.5  # damage begins after the handshake
    damaging = Damaging(plain, random)
    beneath = plain if is_late else damaging
    socket = TlsSocket(beneath, context, arrived=ARRIVED, host="broker")  # type: ignore[arg-type]
    while not socket.is_open:
        try:
            socket.handshake()
        except BlockingIOError:
            with trio.move_on_after(0.01) as patience:
                await plain.wait_readable()
            if patience.cancelled_caught:
                return
    socket.beneath = damaging  # type: ignore[assignment]
    for _ in range(random.randrange(1, 4)):
        socket.send(echoes(random.randrange(1, 20)))
        await trio.sleep(0.001)


CONTEXTS = [
    client_context(trusting(endpoint_identification_algorithm="", enabled_protocols=(version,)))
    for version in ("TLSv1.2", "TLSv1.3")
]
ARRIVED = new_arrival_buffer()


@pytest.mark.slow
async def test_streams_of_damaged_bytes_leave_nothing_behind_and_disturb_no_client(
    autojump_clock: MockClock, size: Callable[[int, int], int], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")  # it keeps what is logged
    random, world = Random(1), simulated_world(seed=5)
    tls = ListenerTls(server_identity(serving(client_auth="requested")), PrincipalRules())
    async with running_plane(world, [echo], listener=SSL, tls={"SSL": tls}) as plane:
        good = await secured(world, plane.endpoint, trusting(endpoint_identification_algorithm=""))

        async def attack_often(streams: int) -> None:
            for number in range(streams // TOGETHER):
                async with trio.open_nursery() as nursery:
                    for _ in range(TOGETHER):
                        nursery.start_soon(attack, world, plane, random)
                await good.send(echoes(1, start=number))
                assert await numbers(good, 1) == [number]
                world.universe.trace.clear()  # it keeps each call
            await trio.sleep(20)
            assert len(plane.connections) == 1

        await check_flat(size(1000, 100_000), attack_often)
        good.close()
        await trio.sleep(1)

        assert plane.connections == []
        assert world.descriptors.sockets == 0
        assert not any(node.name.startswith("handshake ") for _, node in plane.node.walk())
