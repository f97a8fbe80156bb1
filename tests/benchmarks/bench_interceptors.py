"""Cost of interceptors, in process, in CPU time of this thread.

    python -m tests.benchmarks.bench_interceptors [repetitions]

A small Produce with acks=1 through the broker's own parts, files in memory: without interceptors,
then with ten of them (five `before`, five `after`). 500 fetches that park and are woken: without,
then with one `around`. No network: over sockets, see `bench_interceptors_served`. Repetitions
alternate and are short, as a machine is not equally fast for long; of each kind the mean of the
middle half counts: the least of some is the one in which the garbage collector looked less often.
"""

import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from statistics import mean
from typing import Any

import trio

from trio_kafka.broker.collector import long_lived_frozen
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.model import code_of
from trio_kafka.network.request import Request
from trio_kafka.plugin_host.guard import InFlight
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.replication.purgatories import Purgatories
from trio_kafka.requests.interceptors.registry import Kind
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.direct import DirectGroup
from trio_kafka.testing.scripted_client import newest, request_frame
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld

PRODUCES = 512
BLOCK = 64  # in one go
MEMORY = "/dev/shm"  # no disk that is slow now and then
PARKED = 500
FETCH = 1
TOPIC = "measured"


def nothing_before(request: Any, context: Any) -> None:
    return None


def nothing_after(request: Any, response: Any, context: Any) -> None:
    return None


async def nothing_around(request: Any, context: Any, forward: Any) -> Any:
    return await forward(request)


class Bench:
    """A broker without its network."""

    def __init__(self, served: ServedBroker, topic_id: bytes) -> None:
        broker = served.broker
        self.parts = broker.parts
        self.direct = DirectGroup(broker.world, self.parts)
        self.clients = [self.direct.client() for _ in range(PARKED)]
        batch = encode_batch([Record(value=b"v" * 100)])
        data = PartitionProduceData(0, memoryview(batch))
        self.produce = ProduceRequest(
            acks=1, timeout_ms=1000, topic_data=[TopicProduceData(TOPIC, topic_id, [data])]
        )
        expected = FetchPartition(partition=1, fetch_offset=0, partition_max_bytes=1 << 20)
        self.fetch = FetchRequest(
            max_wait_ms=60_000,
            min_bytes=1 << 30,
            max_bytes=1 << 30,
            topics=[FetchTopic(TOPIC, topic_id, [expected])],
        )

    async def produces(self) -> float:
        """CPU seconds of one Produce."""
        perform, took = self.direct.group.perform, 0.0
        frame = request_frame(self.produce, newest(ProduceRequest))
        for block in range(-1, PRODUCES // BLOCK):
            began = time.thread_time()
            requests = [client.arrive(frame) for client in self.clients[:BLOCK]]
            for request in requests:
                perform(request)
            if block >= 0:  # before, the route is made
                took += time.thread_time() - began
            await _all_answered(requests)  # nothing to wait for, unless its directory was slow
        return took / PRODUCES

    async def fetches(self) -> float:
        """CPU seconds of one fetch, from its frame to its answer, of PARKED at once."""
        frame = request_frame(self.fetch, newest(FetchRequest))
        self.direct.group.routes[code_of(FETCH, newest(FetchRequest))]  # made only once
        began = time.thread_time()
        await self._park_and_wake(frame)
        return (time.thread_time() - began) / PARKED

    async def _park_and_wake(self, frame: bytes) -> None:
        purgatory, perform = self.parts[Purgatories].fetch, self.direct.group.perform
        requests = [client.arrive(frame) for client in self.clients]
        for request in requests:
            if not perform(request):  # async: a handler task takes it
                self.direct.channel.offer(request)
        while purgatory.waiting < PARKED:
            await trio.lowlevel.checkpoint()
        for delayed in list(purgatory._waiting):
            delayed.timed_out = True
            delayed.marked()
        await _all_answered(requests)

    def put_on(self, kind: Kind, function: Any, request: type[Any], count: int) -> None:
        """So many interceptors of a kind, as plugins have them."""
        in_flight = InFlight() if kind == "around" else None
        for order in range(count):
            self.parts.interceptors.add(
                kind, request, function, order=order, owner=RecordingOwner(in_flight=in_flight)
            )

    def take_off(self) -> None:
        for interceptor in list(self.parts.interceptors._all):
            self.parts.interceptors.remove(interceptor)


async def _all_answered(requests: Sequence[Request]) -> None:
    """One after the other: to look at all of them in each pass would be measured, too."""
    for request in requests:
        while not request.stamps.answered:
            await trio.lowlevel.checkpoint()


Measure = Callable[[], Awaitable[float]]


async def compare(
    bench: Bench,
    measure: Measure,
    put_on: Callable[[], None],
    repetitions: int,
) -> tuple[float, float]:
    """Without and with interceptors, in µs."""
    without, behind = [], []
    for _ in range(repetitions):
        without.append(await measure())
        put_on()
        behind.append(await measure())
        bench.take_off()
    return _middle(without) * 1e6, _middle(behind) * 1e6


def _middle(samples: Sequence[float]) -> float:
    """The mean of the middle half."""
    quarter = len(samples) // 4
    return mean(sorted(samples)[quarter : len(samples) - quarter])


def loads(bench: Bench) -> list[tuple[str, Measure, Callable[[], None]]]:
    def plain(request: type[Any], each: int) -> Callable[[], None]:
        def put_on() -> None:
            bench.put_on("before", nothing_before, request, each)
            bench.put_on("after", nothing_after, request, each)

        return put_on

    def around() -> None:
        bench.put_on("around", nothing_around, FetchRequest, 1)

    return [
        ("Produce, 5 before and 5 after", bench.produces, plain(ProduceRequest, 5)),
        ("Produce, 10 before and 10 after", bench.produces, plain(ProduceRequest, 10)),
        ("500 parked fetches, a before and an after", bench.fetches, plain(FetchRequest, 1)),
        ("500 parked fetches, an around", bench.fetches, around),
    ]


async def run(world: RealWorld, repetitions: int) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        async with served_broker(world, {"log.dirs": directory}) as served:
            bench = Bench(served, await served.create_topic(TOPIC, 2))
            async with trio.open_nursery() as nursery:
                await nursery.start(bench.direct.run)
                with long_lived_frozen(world.clock.elapsed):
                    for name, measure, put_on in loads(bench):
                        without, behind = await compare(bench, measure, put_on, repetitions)
                        more, share = behind - without, (behind / without - 1) * 100
                        print(
                            f"{name}: {without:.2f} -> {behind:.2f} µs, +{more:.2f}, {share:.1f} %"
                        )
                nursery.cancel_scope.cancel()


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    clock = SkippingClock()
    trio.run(run, RealWorld(clock), repetitions, clock=clock)


if __name__ == "__main__":
    main()
