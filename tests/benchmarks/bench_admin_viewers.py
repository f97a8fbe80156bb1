"""CPU that open pages of the admin UI take: a broker process that idles, and viewers over HTTP.

    python -m tests.benchmarks.bench_admin_viewers [connections] [seconds]

A viewer asks for its page every two seconds, as an open page does, with a connection of its own
and `Accept-Encoding: gzip`. Viewers begin at even distances. Prints, for each set of viewers, the
CPU of the broker in percent of a core, and the bytes of one answer.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import trio

from trio_kafka.testing.ports import LOOPBACK, unused_port
from trio_kafka.testing.processes import BrokerProcess, broker_process
from trio_kafka.testing.scripted_client import frame
from trio_kafka.world.real.process import raise_descriptor_limit

REFRESH_S: Final = 2.0
WARM_S: Final = 3.0
_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_DIFFERENT: Final = ("overview", "tree", "queues", "requests", "connections")
VIEWERS: Final[tuple[tuple[str, Sequence[str]], ...]] = (
    ("none", ()),
    ("1 overview", ["overview"]),
    ("2 different pages", ["overview", "groups"]),
    ("5 overviews", ["overview"] * 5),
    ("50 overviews", ["overview"] * 50),
    ("5 trees", ["tree"] * 5),
    ("5 different pages", _DIFFERENT),
    ("1 connections", ["connections"]),
    ("5 connections", ["connections"] * 5),
)


async def view(port: int, page: str, sizes: list[int]) -> None:
    """Ask for a page again and again; note the size of each answer."""
    stream = await trio.open_tcp_stream(LOOPBACK, port)
    head = f"GET /admin/{page} HTTP/1.1\r\nhost: {LOOPBACK}:{port}\r\naccept-encoding: gzip\r\n\r\n"
    due = trio.current_time()
    async with stream:
        while True:
            await stream.send_all(head.encode())
            sizes.append(await _read_answer(stream))
            due = max(due + REFRESH_S, trio.current_time())
            await trio.sleep_until(due)


async def _read_answer(stream: trio.SocketStream) -> int:
    """Read one response; return the bytes of its body on the wire."""
    data = bytearray()
    while b"\r\n\r\n" not in data:
        data += await stream.receive_some(1 << 16)
    head, _, body = bytes(data).partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode("latin1").splitlines()[0])
    headers = head.lower()
    if b"content-length: " in headers:
        size = int(headers.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        rest = size - len(body)
        while rest > 0:
            rest -= len(await stream.receive_some(1 << 16))
        return size
    while not body.endswith(b"0\r\n\r\n"):
        body += await stream.receive_some(1 << 20)
    return len(body)


def cpu_s(broker: BrokerProcess) -> float:
    """Return the CPU that the broker has used, of all its threads."""
    fields = Path(f"/proc/{broker.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S


async def measure(broker: BrokerProcess, port: int, connections: int, seconds: float) -> None:
    async with AsyncExitStack() as held:
        for _ in range(connections):
            client = await held.enter_async_context(await trio.open_tcp_stream(*broker.address))
            await client.send_all(frame(18, 0))
            await client.receive_some(1 << 16)
        print(f"{connections} connections, {seconds:g} s each:", flush=True)
        for title, pages in VIEWERS:
            sizes = list[int]()
            async with trio.open_nursery() as nursery:
                for page in pages:
                    nursery.start_soon(view, port, page, sizes)
                    await trio.sleep(REFRESH_S / len(pages))
                await trio.sleep(WARM_S)
                before = cpu_s(broker)
                await trio.sleep(seconds)
                percent = 100 * (cpu_s(broker) - before) / seconds
                nursery.cancel_scope.cancel()
            print(f"  {title:20} {percent:5.1f} %, {max(sizes, default=0):8} bytes", flush=True)


def main() -> None:
    connections = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20.0
    raise_descriptor_limit()
    port = unused_port()
    settings = (
        f"plugin.http.listeners=http://{LOOPBACK}:{port}",
        "plugin.admin.max.requests=100",
        "max.connections.per.ip=10000",
    )
    with (
        tempfile.TemporaryDirectory() as directory,
        broker_process(Path(directory), *settings) as broker,
    ):
        trio.run(measure, broker, port, connections, seconds)


if __name__ == "__main__":
    main()
