"""A client that renegotiates, which only TLS 1.2 has."""

import subprocess

import trio

from tests.installed import need_or_skip
from tests.network.echoing import echoes, numbers
from tests.network.secured import secured
from tests.network.test_handshakes import tls_plane
from trio_kafka.model import Endpoint
from trio_kafka.testing.planes import until
from trio_kafka.world.real import RealWorld

TIMEOUT_S = 60


def renegotiate(address: Endpoint) -> str:
    """Return what OpenSSL's client says until it ends."""
    command = ["openssl", "s_client", "-tls1_2", "-connect", str(address)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write("R\n")
        client.stdin.flush()
        return client.stdout.read()


async def test_a_client_that_renegotiates_is_refused_and_others_are_served() -> None:
    need_or_skip("openssl")
    world = RealWorld()
    async with tls_plane(world) as (plane, _):
        neighbour = await secured(world, plane.endpoint)
        with trio.fail_after(TIMEOUT_S):
            printed = await trio.to_thread.run_sync(renegotiate, plane.endpoint)
        await neighbour.send(echoes(1))
        assert await numbers(neighbour, 1) == [0]

        assert "RENEGOTIATING" in printed
        assert "no renegotiation" in printed
        await until(lambda: len(plane.connections) == 1, TIMEOUT_S)
        neighbour.close()
