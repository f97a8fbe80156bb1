"""`produce` and `consume` of the command line beside kcat, and what a command costs to start.

    python -m tests.benchmarks.bench_command_line [--records N] [--repetitions N] [WAY ...]

Lines of 100 bytes go from a file to a topic of one partition, and from there into a file. Commands
run in turn, each in a process of its own, against one broker; a figure is the median of the runs.
Ends with status 1 if one of the BOUNDS is missed: how many times kcat's records/s ours must be. The
compiled leaf is off. Starts write bytecode, as an installation does.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from attrs import frozen

from tests.benchmarks.brokers import started
from tests.benchmarks.topics import temporary_topic
from trio_kafka.records.leaf import SWITCH

OURS: Final = "trio-kafka"
KCAT: Final = "kcat"
START: Final = "start"
WAYS: Final = ("produce", "produce-keys", "consume", START)
BOUNDS: Final[Mapping[str, float]] = {"produce": 0.5, "produce-keys": 0.5, "consume": 0.5}
START_BOUND_S: Final = 0.25  # of CPU
_RUN_S: Final = 300
_SIZE: Final = 100


@frozen
class Cost:
    """Cost of a command: time of a clock, and CPU of its process, in seconds."""

    wall_s: float
    cpu_s: float


def run(command: Sequence[str], output: IO[bytes] | int = subprocess.DEVNULL) -> Cost:
    """Run a command without input to its end."""
    kept = ("PYTHONDONTWRITEBYTECODE",)
    environment = {name: value for name, value in os.environ.items() if name not in kept}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        command,
        env={**environment, SWITCH: "off"},
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=output,
        timeout=_RUN_S,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Cost(time.monotonic() - began, cpu_s)


def ours(bootstrap: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "trio_kafka.cli", *words, "--bootstrap", bootstrap]


def commands(way: str, bootstrap: str, topic: str, file: Path) -> dict[str, list[str]]:
    """Return the command of each program."""
    separator = ["-K", "\\t"] if way == "produce-keys" else []
    if way == "consume":
        theirs = ["-C", "-t", topic, "-e", "-q"]
        return {
            OURS: ours(bootstrap, "consume", topic),
            KCAT: [KCAT, "-b", bootstrap, *theirs],
        }
    theirs = ["-P", "-t", topic, *separator, "-l", str(file)]
    return {
        OURS: ours(bootstrap, "produce", topic, str(file), *separator),
        KCAT: [KCAT, "-b", bootstrap, *theirs],
    }


def measure(
    way: str, bootstrap: str, file: Path, repetitions: int, copy: Path
) -> dict[str, list[Cost]]:
    """Return what the runs of both programs took, in turn."""
    costs: dict[str, list[Cost]] = {OURS: [], KCAT: []}
    with temporary_topic(bootstrap) as source:
        if way == "consume":
            run([KCAT, "-b", bootstrap, "-P", "-t", source, "-l", str(file)])
        for _ in range(repetitions):
            for program, measured in costs.items():
                if way == "consume":
                    command = commands(way, bootstrap, source, file)[program]
                    with copy.open("wb") as output:
                        measured.append(run(command, output))
                    if copy.stat().st_size != file.stat().st_size:
                        raise ValueError(f"{program} has read {copy.stat().st_size} bytes")
                    continue
                with temporary_topic(bootstrap) as topic:
                    measured.append(run(commands(way, bootstrap, topic, file)[program]))
    return costs


def starts(bootstrap: str) -> Mapping[str, Sequence[str]]:
    """Return commands that do next to nothing."""
    with_broker = {
        name: ours(bootstrap, *name.split())
        for name in ("topic list", "group list", "cluster describe", "quota list")
    }
    return {
        "Python alone": [sys.executable, "-c", ""],
        "--help": [sys.executable, "-m", "trio_kafka.cli", "--help"],
        **with_broker,
    }


def lines(records: int, *, keys: bool) -> Iterator[bytes]:
    """Yield different lines of 100 bytes and their newline."""
    for number in range(records):
        head = b"key-%06d\t" % (number % 10_000) if keys else b""
        yield (head + b"%09d " % number).ljust(_SIZE, b"x") + b"\n"


def median(costs: Sequence[Cost], part: Callable[[Cost], float]) -> float:
    return statistics.median(map(part, costs))


def report(way: str, costs: Mapping[str, Sequence[Cost]], records: int) -> list[str]:
    """Print the figures of a way; return a line for a bound that is missed."""
    rates = {}
    for program, measured in costs.items():
        rates[program] = records / median(measured, lambda cost: cost.wall_s)
        cpu_s = median(measured, lambda cost: cost.cpu_s)
        print(f"{way:12} {program:12} {rates[program]:9.0f}/s {cpu_s:6.2f} s of CPU", flush=True)
    ratio = rates[OURS] / rates[KCAT]
    if ratio < BOUNDS[way]:
        return [f"{way}: {ratio:.2f} times kcat's records/s, want {BOUNDS[way]}"]
    return []


def report_starts(bootstrap: str, repetitions: int) -> list[str]:
    """Print what starts cost; return a line for each above the bound."""
    missed = []
    with temporary_topic(bootstrap) as empty:
        chosen = {
            **starts(bootstrap),
            "produce": ours(bootstrap, "produce", empty),
            "consume": ours(bootstrap, "consume", empty),
        }
        for name, command in chosen.items():
            cpu_s = median([run(command) for _ in range(repetitions)], lambda cost: cost.cpu_s)
            print(f"{START:12} {name:18} {cpu_s:6.3f} s of CPU", flush=True)
            if cpu_s > START_BOUND_S:
                missed.append(f"{name}: {cpu_s:.2f} s to start, want {START_BOUND_S}")
    return missed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("ways", nargs="*", metavar="WAY", help=", ".join(WAYS))
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    args = parser.parse_args()
    missed: list[str] = []
    ways = args.ways or WAYS
    with tempfile.TemporaryDirectory() as text:
        home = Path(text)
        with started(OURS, home / "broker") as broker:
            for way in ways:
                if way == START:
                    missed += report_starts(broker.bootstrap, args.repetitions)
                    continue
                file = home / "lines"
                with file.open("wb") as opened:
                    opened.writelines(lines(args.records, keys=way == "produce-keys"))
                costs = measure(way, broker.bootstrap, file, args.repetitions, home / "copy")
                missed += report(way, costs, args.records)
    for line in missed:
        print(f"missed: {line}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
