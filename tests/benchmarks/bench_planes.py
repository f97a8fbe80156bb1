"""Cost of a small request to the planes: server CPU of ApiVersions by connections and depth.

    python tests/benchmarks/bench_planes.py [seconds] [repetitions]

The server is a process of its own; its CPU is the kernel's process clock. Prints the best of the
repetitions.
"""

import gc
import select
import socket
import subprocess
import sys
import time

import trio

from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.scripted_client import frame
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka_apis.k18_api_versions import api_versions

LOADS = ((1, 1), (1, 32), (50, 1), (50, 8), (500, 1))


async def serve(world: RealWorld) -> None:
    async with running_plane(world, [api_versions]) as plane:
        print(plane.endpoint.port, flush=True)
        gc.freeze()
        with trio.open_signal_receiver(15) as signals:
            async for _ in signals:
                break
        print(dict(plane.budget.figures()), plane.channel.requests.figures(), file=sys.stderr)


def closed_loop(
    port: int, pid: int, connections: int, depth: int, seconds: float
) -> tuple[float, float]:
    """Server CPU µs a request, requests/s; each connection has `depth` on the way."""
    request = frame(18, 0)
    sockets, unread, done = {}, {}, 0
    poll = select.epoll()
    for _ in range(connections):
        sock = socket.create_connection(("127.0.0.1", port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(request)
        size = int.from_bytes(sock.recv(4)) + 4
        sock.recv(size - 4)
        sock.setblocking(False)
        poll.register(sock.fileno(), select.EPOLLIN)
        sockets[sock.fileno()], unread[sock.fileno()] = sock, size * depth
    buffer = bytearray(1 << 16)
    clock = (~pid << 3) | 2
    cpu, began = time.clock_gettime(clock), time.perf_counter()
    end = began + seconds
    for sock in sockets.values():
        sock.sendall(request * depth)
    waiting = len(sockets)
    while waiting:
        for fd, _ in poll.poll(5):
            unread[fd] -= sockets[fd].recv_into(buffer)
            if unread[fd] <= 0:
                done += depth
                if time.perf_counter() < end:
                    unread[fd] = size * depth
                    sockets[fd].sendall(request * depth)
                else:
                    waiting -= 1
    took = time.perf_counter() - began
    cpu = time.clock_gettime(clock) - cpu
    for sock in sockets.values():
        sock.close()
    return cpu / done * 1e6, done / took


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    server = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        for connections, depth in LOADS:
            runs = [
                closed_loop(port, server.pid, connections, depth, seconds)
                for _ in range(repetitions)
            ]
            best, rate = min(run[0] for run in runs), max(run[1] for run in runs)
            load = f"ApiVersions, {connections} connections, {depth} deep"
            print(f"{load}: {best:.1f} µs CPU, {rate:.0f}/s", flush=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        clock = SkippingClock()
        trio.run(serve, RealWorld(clock), clock=clock)
    else:
        main()
