"""Compares the working tree with another revision: `make bench BASE=REVISION [ARGS=ROWS]`.

The revision is exported into build/bench, with an environment made by its own Makefile; both are
kept for the next time. Brokers of both run, and each row is measured on one and the other in turn,
first in one order, then with new brokers in the other. The table shows the server's CPU time: the
best run of each broker, the ratio (geometric mean of both orders; above 1: the working tree costs
more), the ratio of each order, and the lowest and highest ratio of single runs. Where these are on
both sides of 1 the row is marked as noise. The exit status is 1 if a row failed, 2 if there is
nothing to measure.
"""

import argparse
import os
import signal
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.benchmarks import comparison
from tests.benchmarks.__main__ import measure
from tests.benchmarks.brokers import checkout_command, started, unwind_on_sigterm
from tests.benchmarks.comparison import Run
from tests.benchmarks.revision import RevisionError, commit_of, export, make_environment
from tests.benchmarks.rows.registry import Row, Target, chosen_rows
from tests.project.tree import ROOT

PLACE: Final = Path("build", "bench")
TREE: Final = "working-tree"


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("base", metavar="REVISION", help="commit, branch or tag")
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", help="names, * as in the shell (those of hot paths)"
    )
    parser.add_argument("--repetitions", type=int, default=3, help="in each order (%(default)s)")
    parser.add_argument("--warm-ups", type=int, default=1, help="in each order (%(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a run (%(default)s)")
    parser.add_argument("--limit-mb", type=int, default=200, help="of a run (%(default)s)")
    return parser.parse_args(arguments)


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Measure and print the table. root: the working tree, with its `.venv`."""
    chosen = options(arguments)
    try:
        rows = chosen_rows(chosen.rows or list(comparison.DEFAULT_ROWS))
        commit = commit_of(root, chosen.base)
        checkout = export(root, commit, root / PLACE)
        make_environment(checkout)
    except (RevisionError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    os.environ.pop("PYTHONPATH", None)  # it would give both brokers the same code
    places, orders = {chosen.base: checkout, TREE: root}, comparison.orders(chosen.base, TREE)
    in_first, in_last = ({name: places[name] for name in order} for order in orders)
    with closing(measure_in_order(in_first, rows, chosen, root / PLACE)) as measured:
        earlier = dict(measured)
    later: dict[str, Sequence[Run]] = {}
    print(comparison.header(chosen.base, TREE), flush=True)
    with closing(measure_in_order(in_last, rows, chosen, root / PLACE)) as measured:
        for row, runs in measured:
            later[row] = runs
            print(comparison.render(row, chosen.base, TREE, [earlier, later]), flush=True)
    return int(any(comparison.reasons_of(row, [earlier, later]) for row in rows))


def measure_in_order(
    places: Mapping[str, Path], rows: Mapping[str, Row], chosen: argparse.Namespace, place: Path
) -> Generator[tuple[str, Sequence[Run]], None, None]:
    """Start a broker of each checkout, in order; measure each row on them in turn, and yield it."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="data-", dir=place)))
        brokers = [
            stack.enter_context(started(name, directory, command=checkout_command(checkout)))
            for name, checkout in places.items()
        ]
        targets = [
            Target(
                broker=broker,
                seconds=chosen.seconds,
                limit=chosen.limit_mb * 10**6,
                directory=directory,
            )
            for broker in brokers
        ]
        for name, row in rows.items():
            print(f"{' then '.join(places)}: {name}", file=sys.stderr, flush=True)
            yield (
                name,
                [
                    measure(row.measure, targets, warm_ups, 1)
                    for warm_ups in (chosen.warm_ups, *[0] * (chosen.repetitions - 1))
                ],
            )


if __name__ == "__main__":
    unwind_on_sigterm()
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
