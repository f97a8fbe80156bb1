"""Measures brokers side by side: `make bench`, or `python -m tests.benchmarks --help`.

Both brokers run; a row is measured on one and the other in turn, after runs that do not count
(a JVM compiles what is hot, for a minute and more: they go on while a server still takes less each
time). A figure is the best of its runs. CPU is that of the server process and its descendants. The
last column says how many times worse the first broker is than the last: 1 is equal, below 1 is
better. Beside it stands what a figure is held to: `must` and `aim`, as many times the other
broker's or in the figure's unit. The exit status is 0 whatever they say, and 1 with
--check where a `must` was missed or could not be judged.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from attrs import asdict

from tests.benchmarks import page, table
from tests.benchmarks.bounds import Verdict
from tests.benchmarks.brokers import COMMANDS, unwind_on_sigterm
from tests.benchmarks.brokers import chosen as chosen_broker
from tests.benchmarks.figures import Figure, Figures, best
from tests.benchmarks.rows.registry import (
    Measure,
    NotApplicableError,
    Row,
    Target,
    chosen_rows,
)

WARM_UP_S: Final = 60.0  # of a row, beyond the runs that it begins with
STILL: Final = 0.95  # of what it took at best before: less is better
Result = Mapping[str, Figure] | str


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names, * as in the shell (all)")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument("--check", action="store_true", help="fail where a must is not met")
    parser.add_argument(
        "--broker",
        action="append",
        metavar="NAME[=PLACE]",
        help=f"{' or '.join(COMMANDS)}, started here; NAME=HOST:PORT, one that runs;"
        " NAME=DIRECTORY, another checkout with its .venv; repeat it",
    )
    parser.add_argument("--repetitions", type=int, default=3, help="that count (%(default)s)")
    parser.add_argument("--warm-ups", type=int, default=2, help="at least, 0: none (%(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a run (%(default)s)")
    parser.add_argument("--limit-mb", type=int, default=200, help="of a run (%(default)s)")
    parser.add_argument("--directory", type=Path, help="for data (the system's temporary one)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--page", type=Path, metavar="FILE", help="keep the tables there, too")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    chosen = options(arguments)
    rows = chosen_rows(chosen.rows)
    if chosen.list:
        print(*rows, sep="\n")
        return 0
    names = chosen.broker or list(COMMANDS)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(dir=chosen.directory)))
        brokers = [stack.enter_context(chosen_broker(name, directory)) for name in names]
        targets = [
            Target(
                broker=broker,
                seconds=chosen.seconds,
                limit=chosen.limit_mb * 10**6,
                directory=directory,
            )
            for broker in brokers
        ]
        titles = [broker.name for broker in brokers]
        report: dict[str, dict[str, Result]] = {}
        verdicts: dict[str, list[Verdict]] = {}
        load, shown = os.getloadavg()[0], dict[str, str]()
        print(f"load before: {load:.2f}", table.header(titles), sep="\n", flush=True)
        for name, row in rows.items():
            report[name] = measure(row.measure, targets, chosen.warm_ups, chosen.repetitions)
            verdicts[name] = judge(row, titles, report[name])
            shown[name] = table.render(name, titles, report[name], verdicts[name])
            print(shown[name], flush=True)
            keep(chosen, titles, shown, report, load=load)
        print(table.summary(verdicts), flush=True)
    results = [result for row in report.values() for result in row.values()]
    failed = any(isinstance(result, str) and result.startswith("failed") for result in results)
    unmet = not all(verdict.must_is_met for judged in verdicts.values() for verdict in judged)
    return int(failed or (chosen.check and unmet))


def keep(
    chosen: argparse.Namespace,
    brokers: list[str],
    shown: Mapping[str, str],
    report: Mapping[str, Mapping[str, Result]],
    *,
    load: float,
) -> None:
    """Write the rows so far to the files of --page and --json: a run may be ended at any row.

    shown: the text of each row. load: of the machine before the first row.
    """
    if chosen.page:
        lines = {name: text.partition("\n")[2] for name, text in shown.items()}
        header = table.header(brokers)
        page.write(chosen.page, header, lines, load=load, runs=chosen.repetitions)
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=1, default=asdict))


def judge(row: Row, brokers: list[str], results: Mapping[str, Result]) -> list[Verdict]:
    """The first broker's figures, held to the bounds of the row; the last one is the other."""
    ours, theirs = (
        {} if isinstance(result, str) else result
        for result in (results[brokers[0]], results[brokers[-1]] if len(brokers) > 1 else "none")
    )
    return [bound.judge(ours, theirs) for bound in row.bounds]


def measure(
    row: Measure,
    targets: list[Target],
    warm_ups: int,
    repetitions: int,
    elapsed: Callable[[], float] = time.monotonic,
) -> dict[str, Result]:
    """The best figures of each broker, or why there are none; the others go on.

    warm_ups: at least; more while a broker still gets better, as long as there is time for them.
    """
    reasons: dict[str, str] = {}
    warm = _run(row, targets, warm_ups, reasons)
    end = elapsed() + WARM_UP_S
    while warm_ups and elapsed() < end and any(map(_gets_better, warm.values())):
        for name, figures in _run(row, targets, 1, reasons).items():
            warm[name] += figures
    runs = _run(row, targets, repetitions, reasons)
    return {name: reasons.get(name) or best(figures) for name, figures in runs.items()}


def _run(
    row: Measure, targets: list[Target], times: int, reasons: dict[str, str]
) -> dict[str, list[Figures]]:
    """Figures of the brokers, in turn. One that gives none is skipped; `reasons` gets why."""
    runs: dict[str, list[Figures]] = {target.broker.name: [] for target in targets}
    for _ in range(times):
        for target in targets:
            name = target.broker.name
            if name in reasons:
                continue
            try:
                runs[name].append(row(target))
            except NotApplicableError as reason:
                reasons[name] = f"not measured: {reason}"
            except Exception as error:
                reasons[name] = f"failed: {type(error).__name__}: {error}"
    return runs


def _gets_better(runs: list[Figures]) -> bool:
    """Whether a server has taken clearly less in the last run than in all before it."""
    if len(runs) < 2:
        return False
    *before, last = runs
    return any(
        figure.value < STILL * min(earlier[name].value for earlier in before)
        for name, figure in last.items()
        if name.endswith("server CPU")
    )


if __name__ == "__main__":
    unwind_on_sigterm()
    sys.exit(main(sys.argv[1:]))
