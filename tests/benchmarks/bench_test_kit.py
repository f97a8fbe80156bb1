"""CPU of the test kit: a start, a new process, a week of an idle broker, a seeded run.

    python -m tests.benchmarks.bench_test_kit

Each line ends with its bound, `must`.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from tempfile import TemporaryDirectory

from confluent_kafka import Consumer

from tests.sim.orders import SETTINGS, orders
from trio_kafka import running_broker
from trio_kafka.testing.simulate import run_seed

STARTS = 200
SEEDS = 20


def cpu_s(call: Callable[[], object]) -> float:
    """Return the CPU time of a call, of all threads."""
    began = time.process_time()
    call()
    return time.process_time() - began


def start() -> None:
    with running_broker():
        pass


def ready_s() -> float:
    """Return the CPU time until a broker is ready, the least of five."""
    result = []
    for _ in range(5):
        began = time.process_time()
        with running_broker():
            result.append(time.process_time() - began)
    return min(result)


FIRST = """
import time
import pytest
began = time.process_time()
from trio_kafka.rare_collections import rare_collections
with rare_collections():
    import trio_kafka.testing.pytest_brokers
from trio_kafka import running_broker
with running_broker() as kafka:
    print(time.process_time() - began)
"""


def first_fixture_s() -> float:
    """Return the CPU time of the first fixture in a process, beside pytest; the least of five.

    Its modules are compiled before, as an installation does.
    """
    result = []
    with TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(6):
            done = subprocess.run(
                [sys.executable, "-c", FIRST],
                env=environment,
                stdout=subprocess.PIPE,
                check=True,
                text=True,
                timeout=60,
            )
            result.append(float(done.stdout))
    return min(result[1:])


def process_ready_s() -> float:
    """Return the CPU time of `trio-kafka start --testing` until its line, the least of three."""
    result = []
    for _ in range(3):
        command = [sys.executable, "-m", "trio_kafka", "start", "--testing"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["bootstrap"]
            with open(f"/proc/{process.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            result.append((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
            process.terminate()
    return min(result)


def week_s() -> float:
    """Return the CPU time in which seven days pass without clients."""
    with running_broker(topics=["t"]) as kafka:
        kafka.produce("t", "a")
        return cpu_s(lambda: kafka.advance(hours=7 * 24))


def day_with_consumers_s() -> float:
    """Return the CPU time in which a day passes with two connected consumers."""
    with running_broker(topics=["t"]) as kafka:
        kafka.produce("t", "a")
        consumers = []
        for protocol in ("classic", "consumer"):
            settings = {"group.protocol": protocol, "auto.offset.reset": "earliest"}
            client = Consumer(
                {"bootstrap.servers": kafka.bootstrap, "group.id": protocol, **settings}
            )
            client.subscribe(["t"])
            assert client.consume(1, timeout=10)
            consumers.append(client)
        spent_s = cpu_s(lambda: kafka.advance(hours=24))
        for client in consumers:
            client.close()
        return spent_s


def retention() -> None:
    with running_broker() as kafka:
        kafka.create_topic("t", configs={"retention.ms": str(7 * 86_400_000)})
        kafka.produce("t", b"old")
        kafka.advance(hours=7 * 24 + 1)
        assert kafka.records("t") == []


def main() -> None:
    start()  # imports
    print(f"running_broker() ready: {1e3 * ready_s():.0f} ms (must: 100)")
    print(f"the first fixture in a process: {first_fixture_s():.2f} s (must: 0.5)")
    print(f"a new process ready: {process_ready_s():.2f} s (must: 0.6)")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(os.listdir("/proc/self/fd"))
    spent_s = cpu_s(lambda: [start() for _ in range(STARTS)])
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before[0]
    opened = len(os.listdir("/proc/self/fd")) - before[1]
    each_ms = 1e3 * spent_s / STARTS
    print(
        f"{STARTS} starts and stops: {each_ms:.0f} ms each, +{grown_kb} kB, +{opened} descriptors"
    )
    print(f"seven days without clients: {week_s():.2f} s (must: 0.3)")
    print(f"a day with two consumers: {day_with_consumers_s():.2f} s (must: 1)")
    began = time.perf_counter()
    retention()
    print(f"seven days of retention: {time.perf_counter() - began:.2f} s by the wall (must: 3)")
    run_seed(orders, 0, settings=SETTINGS)
    each = [
        cpu_s(lambda seed=seed: run_seed(orders, seed, settings=SETTINGS))  # type: ignore[misc]
        for seed in range(1, SEEDS + 1)
    ]
    mean_ms = 1e3 * sum(each) / SEEDS
    print(f"a seeded run with chaos: {mean_ms:.0f} ms on average of {SEEDS} (must: 300)")


if __name__ == "__main__":
    main()
