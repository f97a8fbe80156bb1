"""Cost of the registry's counters for a hop, against the same code without them.

    python tests/benchmarks/bench_hops.py [repetitions]

In process, CPU time of the thread, the best of the repetitions; both builds take turns. `cold`: a
walk through memory that does not fit into the caches comes between every few requests, in both
builds. 0.3 µs a hop, and a request's life, are what is allowed; a request has five hops.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import trio

from trio_kafka.introspect.channels import UNBOUNDED, Channel
from trio_kafka.introspect.recent_requests import RecentRequests
from trio_kafka.introspect.request_metrics import RECENT, ApiMetrics
from trio_kafka.introspect.stamps import NOWHERE, Stamps
from trio_kafka.introspect.tree import Node
from trio_kafka.network import receiving, sending
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.scripted_client import connected, frame
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka_apis.k18_api_versions import api_versions

TIMES: Final = 20_000
APIS: Final = 20
COLD: Final = memoryview(bytearray(1 << 20)), memoryview(bytearray(1 << 20))
BETWEEN: Final = 20  # requests between two walks
Loop = Callable[[int], object]


def cpu_us(loop: Loop, times: int) -> float:
    """µs of each of `times`."""
    began = time.thread_time()
    loop(times)
    return (time.thread_time() - began) / times * 1e6


def compare(name: str, counted: Loop, bare: Loop, repetitions: int, times: int = TIMES) -> float:
    """Both in turns; what counting costs in µs."""
    runs = [(cpu_us(counted, times), cpu_us(bare, times)) for _ in range(repetitions)]
    with_it, without = min(run[0] for run in runs), min(run[1] for run in runs)
    print(f"{name:46} {with_it:7.3f} {without:7.3f} {with_it - without:+7.3f} µs", flush=True)
    return with_it - without


# --- one hop each


def channels() -> tuple[Loop, Loop]:
    channel: Channel[object] = Channel(UNBOUNDED, Node("n", "part"), "c")
    send, receive = trio.open_memory_channel[object](float("inf"))

    def counted(times: int) -> None:
        for _ in range(times):
            channel.send_nowait(None)
            channel.receive_nowait()

    def bare(times: int) -> None:
        for _ in range(times):
            send.send_nowait(None)
            receive.receive_nowait()

    return counted, bare


def turns() -> tuple[Loop, Loop]:
    budget = LoopBudget(time.perf_counter)
    elapsed, ends, share = time.perf_counter, float("inf"), 0.002

    def begin() -> float:
        return min(ends, elapsed() + share)

    def counted(times: int) -> None:
        for _ in range(times):
            budget.begin_share()

    def bare(times: int) -> None:
        for _ in range(times):
            begin()

    return counted, bare


def walk() -> None:
    """Through more memory than the caches of a core hold."""
    COLD[0][:] = COLD[1]


def requests(kept: int, *, cold: bool, stamped: bool) -> Loop:
    """Stamps and sums of requests to many APIs in turn."""
    sums = [ApiMetrics(RecentRequests(kept)) for _ in range(APIS)]
    shared = Stamps(received=1.0, begun=1.0)

    def loop(times: int) -> None:
        for n in range(times):
            if stamped:
                stamps = Stamps(
                    received=1.0, begun=1.0, code=1, correlation=n, request_bytes=3, origin=NOWHERE
                )
                stamps.handled = stamps.answered = 2.0
                stamps.sending = 3.0
                stamps.client_id = ""
                sums[n % APIS].add(stamps, 4.0)
            else:
                stamps = shared
            if cold and not n % BETWEEN:
                walk()

    return loop


def lives(*, cold: bool) -> tuple[Loop, Loop]:
    """Loops for what is kept of each request besides the sums: the ring and the slowest's bar."""

    def of(keep: Callable[[RecentRequests, Stamps, float], None]) -> Loop:
        kept = [RecentRequests(RECENT) for _ in range(APIS)]
        for recent in kept:
            for _ in range(RECENT):
                recent.note_slow(Stamps(received=0.0, begun=0.0, sent=9.0), 9.0)

        def loop(times: int) -> None:
            for n in range(times):
                stamps = Stamps(
                    received=1.0, begun=1.0, code=1, correlation=n, request_bytes=3, origin=NOWHERE
                )
                keep(kept[n % APIS], stamps, 3.0)
                if cold and not n % BETWEEN:
                    walk()

        return loop

    def keep(recent: RecentRequests, stamps: Stamps, total: float) -> None:
        recent.latest.append(stamps)
        if total > recent.slow_above:
            recent.note_slow(stamps, total)

    def nothing(recent: RecentRequests, stamps: Stamps, total: float) -> None:
        """A call as the other one."""

    return of(keep), of(nothing)


# --- a plane, with and without


class Nobody:
    """ApiMetrics that nobody asks for."""

    def add(self, stamps: Stamps, sent: float) -> None:
        """Counts nothing."""


@contextmanager
def uncounted() -> Iterator[None]:
    """Requests have no stamps of their own, and are not summed."""
    shared = Stamps(received=0.0, begun=0.0)
    sums: dict[int, Any] = {18: Nobody()}
    stamps, sent = receiving.Stamps, sending.Sending._sent

    def without(self: Any, requests: Any) -> None:
        self._elapsed()
        for request in requests:
            (sums.get(request.code >> 16) or sums[18]).add(request.stamps, 0.0)

    vars(receiving)["Stamps"] = lambda *_: shared
    sending.Sending._sent = without  # type: ignore[method-assign]
    try:
        yield
    finally:
        vars(receiving)["Stamps"] = stamps
        sending.Sending._sent = sent  # type: ignore[method-assign]


async def plane_us(requests_each: int, depth: int) -> float:
    """CPU of client and server in one process, for each ApiVersions."""
    async with (
        running_plane(RealWorld(SkippingClock()), [api_versions]) as plane,
        connected(plane.world, plane.endpoint) as client,
    ):
        request = frame(18, 0)
        await client.send(request)
        size = len(await client.receive_frame()) + 4
        gc.collect()
        began = time.thread_time()
        for _ in range(requests_each // depth):
            await client.send(request * depth)
            await client.receive(size * depth)
        return (time.thread_time() - began) / requests_each * 1e6


def plane(repetitions: int) -> None:
    runs = []
    for _ in range(repetitions):
        counted = trio.run(plane_us, 8_000, 16, clock=SkippingClock())
        with uncounted():
            runs.append((counted, trio.run(plane_us, 8_000, 16, clock=SkippingClock())))
    counted, bare = min(run[0] for run in runs), min(run[1] for run in runs)
    print(f"{'ApiVersions, 16 deep: stamps, sums and lives':46} {counted:7.3f} {bare:7.3f}", end="")
    print(f" {counted - bare:+7.3f} µs: {(counted - bare) / 5:.3f} µs a hop")


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    gc.disable()
    print(f"{'':46} counted    bare    cost")
    compare("a channel's hop: send and receive", *channels(), repetitions)
    compare("a turn of a task: wake to run", *turns(), repetitions)
    for cold in (False, True):
        how = "cold" if cold else "warm"
        cost = compare(
            f"stamps, sums and lives of a request, {how}",
            requests(RECENT, cold=cold, stamped=True),
            requests(RECENT, cold=cold, stamped=False),
            repetitions,
        )
        print(f"{'':46} {cost / 5:.3f} µs a hop")
        compare(f"what is kept of a request, {how}", *lives(cold=cold), repetitions)
    gc.enable()
    plane(repetitions)


if __name__ == "__main__":
    main()
