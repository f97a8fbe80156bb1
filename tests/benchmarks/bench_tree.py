"""Cost of describing the tree of a plane with many connections: in all, and the longest slice.

    python tests/benchmarks/bench_tree.py [connections] [repetitions]

In process, over loopback. CPU is that of the thread, of `DescribeTree` from its first row to its
bytes; a slice is what runs between two checkpoints. Wanted of 1,000 connections: slices below 2 ms,
10 ms in all. Prints the best of the repetitions, and the longest slice of that one.
"""

import gc
import sys
import time
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any, cast

import outcome
import trio

from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context
from trio_kafka.protocol.messages.k10001_describe_tree import DescribeTreeRequest
from trio_kafka.testing.planes import running_plane, until
from trio_kafka.testing.scripted_client import connected, frame
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka.world.real.process import raise_descriptor_limit
from trio_kafka_apis.k18_api_versions import api_versions
from trio_kafka_apis.k10001_describe_tree import describe_tree


async def measure(connections: int, repetitions: int) -> None:
    world = RealWorld(SkippingClock())
    listener = ListenerSettings(backlog=1024)
    async with (
        running_plane(world, [api_versions], listener=listener) as plane,
        AsyncExitStack() as held,
    ):
        for _ in range(connections):
            client = await held.enter_async_context(connected(world, plane.endpoint))
            await client.send(frame(18, 0))
            await client.receive_frame()
        await until(lambda: len(plane.connections) == connections)
        tree = SimpleNamespace(version=0, tree=plane.node)
        runs = [slices(cast("Context", tree)) for _ in range(repetitions)]
    best = min(runs, key=lambda run: sum(run[0]))
    print(
        f"{connections} connections, {best[1]} bytes: {sum(best[0]) * 1e3:.1f} ms of CPU in"
        f" {len(best[0])} slices, the longest {max(best[0]) * 1e3:.2f} ms"
    )


def slices(context: Context) -> tuple[list[float], int]:
    """CPU seconds of each slice, and how many bytes they made."""
    gc.collect()
    steps: Any = describe_tree(DescribeTreeRequest(), context).__await__()
    took, resume = [], None  # as Trio would go on with it
    while True:
        began = time.thread_time()
        try:
            steps.send(resume)
        except StopIteration as end:
            took.append(time.thread_time() - began)
            return took, len(end.value.body)
        took.append(time.thread_time() - began)
        resume = outcome.Value(None)


def main() -> None:
    connections = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    raise_descriptor_limit()
    trio.run(measure, connections, repetitions, clock=SkippingClock())


if __name__ == "__main__":
    main()
