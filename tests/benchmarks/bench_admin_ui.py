"""Cost of a page of the admin UI for a broker, and for how long it holds the loop at most.

    python -m tests.benchmarks.bench_admin_ui [connections] [partitions]

In process, over loopback, from the request of the app to its last byte. CPU is that of the thread,
without what the same passes of the loop cost when nothing is asked; the longest turn is that of a
task that looks at each pass. Prints the best of the repetitions of each page, as HTML and as JSON.
"""

import sys
import tempfile
import time
from contextlib import AsyncExitStack
from typing import Final

import trio
from attrs import define, field

from trio_kafka.plugin_host.mounts import App
from trio_kafka.testing.asgi import ask
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.scripted_client import connected, frame
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka.world.real.process import raise_descriptor_limit
from trio_kafka_admin.plugin import admin
from trio_kafka_admin.tree_snapshots import FRESH_S

TARGETS: Final = (
    "overview",
    "queues",
    "tree",
    "tree?limit=5000",
    "requests?which=latest",
    "connections",
    "plugins",
)
REPETITIONS: Final = 5


@define
class Passes:
    """Gaps between passes of the loop until `over`; an empty pass takes `idle_s`."""

    gaps: list[float] = field(factory=list)
    idle_s: float = 0.0
    over: bool = False

    async def run(self) -> None:
        last = time.thread_time()
        while not self.over:
            await trio.lowlevel.checkpoint()
            now = time.thread_time()
            self.gaps.append(now - last)
            last = now


async def measure(connections: int, partitions: int, directory: str) -> None:
    world = RealWorld(SkippingClock())
    async with (
        served_broker(world, {"log.dirs": directory}, plugins=(admin,)) as served,
        AsyncExitStack() as held,
        trio.open_nursery() as nursery,
    ):
        for _ in range(connections):
            client = await held.enter_async_context(connected(world, served.broker.endpoint))
            await client.send(frame(18, 0))
            await client.receive_frame()
        await served.create_topic("orders", partitions)
        mount = served.broker.plugins.dependencies.mounts.find("/admin")
        assert mount is not None
        passes = Passes()
        nursery.start_soon(passes.run)
        await trio.sleep(0.2)
        passes.idle_s = sorted(passes.gaps)[len(passes.gaps) // 2]
        print(f"{connections} connections, {partitions} partitions:")
        for target in TARGETS:
            for kind in ("", "api/"):
                print(await page(mount.app, f"/admin/{kind}{target}", passes))
        passes.over = True


async def page(app: App, target: str, passes: Passes) -> str:
    """One line on a page."""
    result = []
    for _ in range(REPETITIONS):
        await trio.sleep(FRESH_S)  # until then viewers share what was rendered
        passes.gaps.clear()
        began = time.thread_time()
        answer = await ask(app, "GET", target)
        took = time.thread_time() - began - len(passes.gaps) * passes.idle_s
        assert answer.status == 200, answer.body
        result.append((max(passes.gaps), took, len(answer.body)))
    longest, took, size = min(result)
    return (
        f"  {target:34} {took * 1e3:6.1f} ms of CPU, longest turn {longest * 1e3:5.2f} ms,"
        f" {size:8} bytes"
    )


def main() -> None:
    connections = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    partitions = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    raise_descriptor_limit()
    with tempfile.TemporaryDirectory() as directory:
        trio.run(measure, connections, partitions, directory, clock=SkippingClock())


if __name__ == "__main__":
    main()
