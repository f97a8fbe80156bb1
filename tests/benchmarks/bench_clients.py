"""Cost of a record in our Trio client, beside aiokafka, kafka-python and confluent-kafka.

    python -m tests.benchmarks.bench_clients [--repetitions N] [--scale X] [WAY ...] [--load NAME]

All contestants run in turn, each in a process of its own, against one broker. A figure is µs of
CPU of the client's process, user and system, for a record: the median of the runs. Ours runs with
the compiled leaf, if it is installed, and without. Ends with status 1 if one of the BOUNDS is
missed: how many times faster ours must be. `idle` is a consumer of a thousand idle partitions.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs
from attrs import frozen

from tests.benchmarks.brokers import started
from tests.benchmarks.contestants import CONTESTANTS, WRITING, Cost, Job, confluent_produce
from tests.benchmarks.topics import temporary_topic
from trio_kafka.records.leaf import SWITCH, leaf

OURS: Final = "trio-kafka"
_RUN_S: Final = 300
WAYS: Final = (*WRITING, "read", "poll", "columns")
IDLE: Final = "idle"
IDLE_PARTITIONS: Final = 1000
IDLE_S: Final = 20
IDLE_BOUND_US: Final = 2000  # of a second: 0.2 % of a core


@frozen
class Load:
    """Records of `size` bytes, `count` in a run."""

    size: int
    codec: str
    count: int


LOADS: Final = {
    "100 B": Load(100, "none", 200_000),
    "1 KiB": Load(1024, "none", 50_000),
    "100 B lz4": Load(100, "lz4", 200_000),
    "1 KiB lz4": Load(1024, "lz4", 50_000),
}


@frozen
class Contestant:
    """A client, its way, and whether ours uses the compiled leaf."""

    client: str
    way: str
    compiled: bool = False

    @property
    def name(self) -> str:
        return f"{self.client} (leaf)" if self.compiled else self.client


# Times the speed of a record with another client, by our way and whether the leaf is used.
BOUNDS: Final[Mapping[tuple[str, bool], Mapping[str, float]]] = {
    ("produce", False): {"aiokafka": 0.6, "kafka-python": 1.5},
    ("produce", True): {"aiokafka": 1.2, "kafka-python": 1.5},
    ("many", False): {"aiokafka": 1.5, "kafka-python": 3.0},
    ("read", False): {"aiokafka": 0.5, "kafka-python": 1.5},
    ("read", True): {"aiokafka": 1.2, "kafka-python": 1.5},
    ("columns", False): {"aiokafka": 1.5, "kafka-python": 1.5},
    ("columns", True): {"aiokafka": 2.0, "kafka-python": 1.5},
}
Figures = Mapping[Contestant, Cost]


def contestants(ways: Sequence[str]) -> Iterator[Contestant]:
    """Yield those that run, ours with and without the leaf."""
    for client, way in CONTESTANTS:
        if way in ways and way != IDLE:
            yield Contestant(client, way)
            if client == OURS and leaf() is not None:
                yield Contestant(client, way, compiled=True)


def run(contestant: Contestant, job: Job) -> Cost:
    """Return the cost of one run in a process of its own."""
    environment = {**os.environ, SWITCH: "on" if contestant.compiled else "off"}
    command = [sys.executable, "-m", "tests.benchmarks.contestants", json.dumps(attrs.asdict(job))]
    output = subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, timeout=_RUN_S
    ).stdout
    return Cost(**json.loads(output))


def measure(bootstrap: str, load: Load, ways: Sequence[str], repetitions: int) -> Figures:
    """Return the medians of all contestants, who run in turn."""
    costs: dict[Contestant, list[Cost]] = {}
    common = {"bootstrap": bootstrap, "size": load.size, "codec": load.codec, "count": load.count}
    with temporary_topic(bootstrap) as topic:
        confluent_produce(Job(client="", way="", topic=topic, **common))
        for _ in range(repetitions):
            for contestant in contestants(ways):
                job = Job(client=contestant.client, way=contestant.way, topic=topic, **common)
                costs.setdefault(contestant, []).append(_run_once(contestant, job))
    return {contestant: _median(runs) for contestant, runs in costs.items()}


def idle(bootstrap: str) -> float:
    """Return what a second of a consumer of many idle partitions costs, in µs."""
    with temporary_topic(bootstrap, IDLE_PARTITIONS) as topic:
        job = Job(
            client=OURS,
            way=IDLE,
            bootstrap=bootstrap,
            topic=topic,
            codec="none",
            size=IDLE_PARTITIONS,
            count=IDLE_S,
        )
        return run(Contestant(OURS, IDLE), job).cpu_us


def _run_once(contestant: Contestant, job: Job) -> Cost:
    if contestant.way not in WRITING:
        return run(contestant, job)
    with temporary_topic(job.bootstrap) as topic:  # the records to read stay as they are
        return run(contestant, attrs.evolve(job, topic=topic))


def _median(runs: Sequence[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.cpu_us for cost in runs),
        statistics.median(cost.rate for cost in runs),
    )


def missed(figures: Figures) -> list[str]:
    """Return a line for each bound that is missed."""
    lines = []
    for (way, compiled), bounds in BOUNDS.items():
        ours = figures.get(Contestant(OURS, way, compiled))
        for client, bound in bounds.items():
            theirs = figures.get(Contestant(client, "produce" if way in WRITING else "read"))
            if ours is None or theirs is None:
                continue
            ratio = theirs.cpu_us / ours.cpu_us
            if ratio < bound:
                name = Contestant(OURS, way, compiled).name
                lines.append(f"{name} {way}: {ratio:.2f} times {client}, want {bound}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("ways", nargs="*", metavar="WAY", help=", ".join((*WAYS, IDLE)))
    parser.add_argument("--load", action="append", choices=list(LOADS))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    args = parser.parse_args()
    misses = []
    ways = args.ways or (*WAYS, IDLE)
    with tempfile.TemporaryDirectory() as directory, started(OURS, Path(directory)) as broker:
        if IDLE in ways:
            cost_us = idle(broker.bootstrap)
            print(f"{IDLE_PARTITIONS} idle partitions: {cost_us:.0f} µs a second", flush=True)
            if cost_us > IDLE_BOUND_US:
                misses.append(IDLE)
        loads = (args.load or LOADS) if set(ways) & set(WAYS) else ()
        for name in loads:
            load = LOADS[name]
            load = attrs.evolve(load, count=int(load.count * args.scale))
            figures = measure(broker.bootstrap, load, ways, args.repetitions)
            for contestant, cost in figures.items():
                columns = f"{name:10} {contestant.way:8} {contestant.name:18}"
                print(f"{columns} {cost.cpu_us:7.2f} µs {cost.rate:9.0f}/s", flush=True)
            for line in missed(figures):
                misses.append(line)
                print(f"{name:10} missed: {line}", flush=True)
    sys.exit(bool(misses))


if __name__ == "__main__":
    main()
