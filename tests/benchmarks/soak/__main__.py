"""A broker under load for a long time: does it keep what it should give back?

    python -m tests.benchmarks.soak --minutes 60
    python -m tests.benchmarks.soak --planes --minutes 10

Producers, fetchers and askers at a steady pace, connections that come and go, topics that are
created, used and deleted. Each minute prints the server's memory and what its tree counts (of
trio-kafka); the end says whether memory is what it was after five minutes, within 10 %. With
--check it fails where that is not so, and always where the load met an error.

With --planes: 500 connections of mixed load beside storms of connections, readers that read slowly
or never, clients above every quota, requests of which only the size comes, resets, listeners that
come and go, processors and handlers that change, a plugin that is reloaded, and somebody who looks
at the pages of the admin UI. Each minute prints
queues, pools, descriptors and tasks beside their bounds; the end has a verdict for each bound, and
fails with --check if one was exceeded.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.brokers import COMMANDS, running, started, unwind_on_sigterm
from tests.benchmarks.soak import mixed, pages, planes
from tests.benchmarks.soak.bounds import AuditInterceptor
from tests.benchmarks.soak.load import Load, running_load
from tests.benchmarks.soak.minutes import observe, verdict
from tests.benchmarks.topics import temporary_topic
from trio_kafka.testing.ports import unused_port


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=int, default=60, help="how long (%(default)s)")
    parser.add_argument("--minute", type=float, default=60.0, help="its seconds (%(default)s)")
    parser.add_argument("--check", action="store_true", help="fail where a bound was exceeded")
    parser.add_argument("--planes", action="store_true", help="the load on the planes")
    parser.add_argument("--connections", type=int, default=500, help="of planes (%(default)s)")
    parser.add_argument(
        "--broker",
        default="trio-kafka",
        metavar="NAME[=HOST:PORT]",
        help=f"{' or '.join(COMMANDS)}, started here, or one that runs (%(default)s)",
    )
    parser.add_argument("--directory", type=Path, help="for data (the system's temporary one)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    chosen = options(arguments)
    return soak_planes(chosen) if chosen.planes else soak(chosen)


def soak(chosen: argparse.Namespace) -> int:
    """The mixed load. The exit status."""
    rss: dict[int, float] = {}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(dir=chosen.directory)))
        name = chosen.broker
        load = Load(
            running(name)
            if "=" in name
            else stack.enter_context(started(name, directory, *mixed.SETTINGS))
        )
        print(f"broker: {load.broker.bootstrap}", flush=True)
        topic = stack.enter_context(temporary_topic(load.broker.bootstrap, 1, mixed.KEPT))
        stack.enter_context(running_load(load, topic, mixed.PARTS))
        for minute in observe(load, chosen.minutes, chosen.minute):
            rss[minute.number] = minute.rss
            print(minute, flush=True)
    print_counts(load)
    met, text = verdict(rss)
    print(*load.errors, text, sep="\n")
    return int(bool(load.errors) or (chosen.check and not met))


def soak_planes(chosen: argparse.Namespace) -> int:
    """The load on the planes, of a broker that is started here. The exit status."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(dir=chosen.directory)))
        http = unused_port()
        settings = planes.settings(chosen.connections, http)
        broker = stack.enter_context(started("trio-kafka", directory, *settings))
        print(f"broker: {broker.bootstrap}", flush=True)
        load = Load(broker, chosen.connections)
        load.places[pages.HTTP] = "127.0.0.1", http
        planes.prepare(load, stack)
        watch = AuditInterceptor(broker, planes.limits(chosen.connections))
        watch.begin()
        topic = stack.enter_context(temporary_topic(broker.bootstrap, 4, mixed.KEPT))
        with running_load(load, topic, planes.PARTS):
            for text in watch.minutes(load, chosen.minutes, chosen.minute):
                print(text, flush=True)
        watch.settle()
    print_counts(load)
    kept, lines = watch.verdicts()
    print(*load.errors, *lines, sep="\n")
    return int(bool(load.errors) or (chosen.check and not kept))


def print_counts(load: Load) -> None:
    """Print the load's counts."""
    print("done: " + ", ".join(f"{count} {name}" for name, count in sorted(load.done.items())))


if __name__ == "__main__":
    unwind_on_sigterm()
    sys.exit(main(sys.argv[1:]))
