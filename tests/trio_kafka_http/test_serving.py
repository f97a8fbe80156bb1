"""hypercorn as it is set up, and what it costs a broker that has no HTTP client."""

import subprocess
import sys

import pytest
from trio.testing import MockClock

from tests.project.tree import ROOT
from tests.trio_kafka_http.kit import hello, http_client, one_client, served_plane
from trio_kafka.testing.simulation import simulated_world


@pytest.mark.slow
def test_http_plugin_imports_neither_hypercorn_nor_its_dependencies() -> None:
    code = (
        "import sys; import trio_kafka_http.plugin;"
        "print(*{'hypercorn', 'h11', 'h2', 'wsproto', 'multiprocessing'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "\n"


async def test_head_above_the_size_limit_is_refused_with_431(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_plane(world, {"/hello": hello}, max_header_bytes=2048) as served:
        async with http_client(world, served.endpoints[0]) as client:
            fits = await client.ask("GET", "/hello", headers={"x-long": "x" * 1900})
        async with http_client(world, served.endpoints[0]) as client:
            await client.send(b"GET /hello HTTP/1.1\r\nx-long: " + b"x" * 20_000)
            result = await client.wait_closed()

    assert fits.status == 200
    assert result.startswith(b"HTTP/1.1 431 ")


async def test_response_to_head_has_no_body(autojump_clock: MockClock) -> None:
    async with one_client({"/hello": hello}) as (_served, client):
        reply = await client.ask("HEAD", "/healthz")

        assert (reply.status, reply.body) == (200, b"")
        assert (await client.ask("GET", "/healthz")).status == 200


async def test_pipelined_requests_are_answered_in_order(
    autojump_clock: MockClock,
) -> None:
    async with one_client({"/hello": hello}) as (_served, client):
        request = b"GET /hello/%d HTTP/1.1\r\nhost: localhost\r\n\r\n"
        await client.send(
            request % 1 + request % 2 + b"GET /healthz HTTP/1.0\r\nhost: localhost\r\n\r\n"
        )
        result = await client.wait_closed()

    assert result.index(b"/hello/1") < result.index(b"/hello/2") < result.index(b"alive")
