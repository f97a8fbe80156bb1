"""Cost of ten interceptors for a Produce as it is served: over sockets, CPU of the server.

    python -m tests.benchmarks.bench_interceptors_served [seconds of a run] [repetitions]

One broker process with ten plugins, of which five have a `before` on Produce and five an `after`,
that do nothing; a signal has them put on and taken off. 50 connections ask one by one for a record
of 100 bytes, acks=1, as the row `produce-small-50x1` does. Runs without and with them take turns,
the first of each turn changes, and the best of each are compared: at most 10 % more are allowed.
Prints each turn, too, as a machine is not equally fast for long.
"""

import os
import signal
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.benchmarks.brokers import Broker
from tests.benchmarks.rows.registry import Target
from tests.benchmarks.rows.small import produce_small
from tests.benchmarks.server import Server
from tests.plugin_host.packages import write
from trio_kafka.testing.processes import BrokerProcess, broker_process

CONNECTIONS = 50
WITHIN_S = 10
SHARE = 0.10
ON, OFF = "ten interceptors: on", "ten interceptors: off"
PLUGINS = f"""
import signal
from contextlib import asynccontextmanager

import trio
from trio_kafka.plugin import plugin
from trio_kafka.protocol.messages.k00_produce import ProduceRequest

contexts = []


def before(request, context):
    return None


def after(request, response, context):
    return None


def put_on():
    for number, context in enumerate(contexts):
        kind, function = ("before", before) if number % 2 else ("after", after)
        yield context, context.intercept(kind, ProduceRequest, function)


async def take_turns(task_status):
    with trio.open_signal_receiver(signal.SIGUSR1) as signals:
        task_status.started()
        wanted = []
        async for _ in signals:
            if wanted:
                for context, one in wanted:
                    context.stop_intercepting(one)
                wanted = []
            else:
                wanted = list(put_on())
            print({ON!r} if wanted else {OFF!r}, flush=True)


def new_plugin(number):
    @plugin(f"nothing-{{number}}")
    @asynccontextmanager
    async def nothing(context):
        contexts.append(context)
        if not number:
            await context.start("turns", take_turns)
        yield

    return nothing


nothing_0, nothing_1, nothing_2, nothing_3, nothing_4 = map(new_plugin, range(5))
nothing_5, nothing_6, nothing_7, nothing_8, nothing_9 = map(new_plugin, range(5, 10))
"""


def install(target: Path) -> None:
    """Ten plugins, as an installer leaves them."""
    files = {"nothing_plugins/__init__.py": "", "nothing_plugins/ten.py": PLUGINS}
    write(target, "nothing-plugins", files, {"nothing": "nothing_plugins.ten"})


class Turns:
    """Whether the ten are on."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._broker = broker
        self._on = False

    def turn(self, *, on: bool) -> None:
        """Returns when it is so. Raises TimeoutError."""
        if on is self._on:
            return
        said, self._on = ON if on else OFF, on
        before = self._count(said)
        self._broker.process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + WITHIN_S
        while self._count(said) == before:
            if time.monotonic() > end:
                raise TimeoutError(f"the broker did not say {said!r} within {WITHIN_S} s")
            time.sleep(0.01)

    def _count(self, said: str) -> int:
        return self._broker.log.read_text().count(said)


def compare(broker: BrokerProcess, directory: Path, seconds: float, repetitions: int) -> None:
    measured = Broker("trio-kafka", broker.address, Server(broker.process.pid))
    target = Target(broker=measured, seconds=seconds, limit=0, directory=directory)
    turns = Turns(broker)
    runs: dict[bool, list[float]] = {False: [], True: []}
    for number in range(repetitions):
        for on in (False, True) if number % 2 else (True, False):
            turns.turn(on=on)
            figures = produce_small(target, connections=CONNECTIONS, depth=1)
            runs[on].append(figures["server CPU"].value)
        without, behind = runs[False][-1], runs[True][-1]
        share = behind / without - 1
        print(f"{number + 1}: {without:.2f} -> {behind:.2f} µs, {share:+.1%}", flush=True)
    without, behind = min(runs[False]), min(runs[True])
    share = behind / without - 1
    shares = sorted(b / a - 1 for a, b in zip(runs[False], runs[True], strict=True))
    verdict = "ok" if share <= SHARE else "missed"
    print(f"best: {without:.2f} -> {behind:.2f} µs, {behind - without:+.2f}, {share:+.1%}", end="")
    print(f"; median of the turns {median(shares):+.1%}; at most {SHARE:.0%}: {verdict}")


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with TemporaryDirectory() as directory:
        packages = Path(directory) / "packages"
        packages.mkdir()
        install(packages)
        path = [str(packages), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        with broker_process(Path(directory)) as broker:
            compare(broker, Path(directory), seconds, repetitions)


if __name__ == "__main__":
    main()
