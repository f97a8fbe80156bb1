"""`trio-kafka top`: the load of a broker, again and again.

In a terminal it is a live screen (`live_top`). Elsewhere it prints what two readings of the tree
say: the first shows totals since the broker's start, later ones show rates.
"""

import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from functools import partial
from typing import Final

from attrs import asdict

from trio_kafka.cli.broker_client import parse_address
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.http_address import HttpAddress, declare_http
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_json_line
from trio_kafka.cli.tree import read_tree
from trio_kafka.introspect.snapshots import HOPS, WORKING, TreeSnapshot, api_loads, loops, queues
from trio_kafka.model import Endpoint
from trio_kafka.protocol.tree_rows import look_of

CLEAR: Final = "\x1b[H\x1b[2J"
_WITHOUT_SCREEN: Final = ("", "dumb", "unknown")  # values of TERM


def declare(parser: ArgumentParser) -> None:
    declare_broker(parser)
    parser.add_argument(
        "--interval",
        type=float,
        default=2.0,
        metavar="SECONDS",
        help="time between two readings (%(default)g)",
    )
    parser.add_argument(
        "--times",
        type=int,
        default=0,
        metavar="NUMBER",
        help="number of readings to print; 0: until Ctrl-C (the default)",
    )
    parser.add_argument(
        "--plain", action="store_true", help="print readings, in a terminal too; no live screen"
    )
    declare_http(
        parser,
        "address of the admin UI, for the live screen; without one, what the broker serves",
        after_cluster=True,
    )
    declare_json(
        parser,
        "one JSON object a line for each reading: `loops`, `requests`, `queues`; rates are null"
        " in the first",
    )


def top(
    *,
    bootstrap: str,
    interval: float,
    times: int,
    plain: bool,
    at: HttpAddress,
    json: bool,
    timeout: float,
) -> int:
    """Show the load of a broker. In a terminal: the stages of its requests, what is wrong, slow
    requests, growing lag, APIs and queues; press ? for the keys. Else: its event loop, its requests
    by API, its queues.
    """
    has_screen = sys.stdout.isatty() and os.environ.get("TERM", "") not in _WITHOUT_SCREEN
    try:
        if has_screen and not (json or plain or times):
            from trio_kafka.cli.live_top.reading import read  # noqa: PLC0415 - 0.1 s of imports
            from trio_kafka.cli.live_top.terminal import show  # noqa: PLC0415

            address = parse_address(bootstrap)
            reader = partial(read, address, at, timeout_s=timeout)
            show(reader, title=f"trio-kafka top  {bootstrap}", interval_s=interval)
            return 0
        return _print_readings(bootstrap, interval, times=times, json=json, timeout_s=timeout)
    except KeyboardInterrupt:
        return 0


def _print_readings(
    bootstrap: str, interval: float, *, times: int, json: bool, timeout_s: float
) -> int:
    shown = 0
    before: TreeSnapshot | None = None
    while True:
        after = look(parse_address(bootstrap), timeout_s)
        if json:
            print_json_line(as_data(before, after))
        else:
            _print_lines(before, after)
        shown += 1
        if shown == times:
            return 0
        if not json:
            print(flush=True)
        before = after
        time.sleep(interval)


def _print_lines(before: TreeSnapshot | None, after: TreeSnapshot) -> None:
    if sys.stdout.isatty():
        print(CLEAR, end="")
    for line in lines(before, after):
        print(line)


def as_data(before: TreeSnapshot | None, after: TreeSnapshot) -> dict[str, object]:
    """Return a reading for JSON, with rates since the one before."""
    return {
        "loops": [asdict(row) for row in loops(before, after)],
        "requests": [asdict(row) for row in api_loads(before, after)],
        "queues": [asdict(row) for row in queues(before, after)],
    }


def look(address: Endpoint, timeout_s: float) -> TreeSnapshot:
    """Read a broker's tree once. Raises BrokerClientError."""
    answer = read_tree(address, kinds=WORKING, timeout_s=timeout_s)
    return look_of(answer, time.monotonic())


def lines(before: TreeSnapshot | None, after: TreeSnapshot) -> Iterator[str]:
    """Yield the lines of a reading, with rates since the one before."""
    yield from _loops(before, after)
    yield ""
    yield from _requests(before, after)
    yield ""
    yield from _queues(before, after)
    if before is None:
        yield "Totals since the start; rates follow with the next reading."


def _loops(before: TreeSnapshot | None, after: TreeSnapshot) -> Iterator[str]:
    head = ("plane", "connections", "passes/s", "busy %", "wake ms", "lag ms", "tasks")
    rows = [
        [
            loop.plane,
            str(loop.connections),
            _shown(loop.passes_per_s),
            _shown(loop.busy_percent),
            f"{loop.wake_ms:.3f}",
            f"{loop.lag_ms:.1f}",
            str(loop.tasks),
        ]
        for loop in loops(before, after)
    ]
    yield from columns(head, rows, [LEFT, *[RIGHT] * (len(head) - 1)])


def _requests(before: TreeSnapshot | None, after: TreeSnapshot) -> Iterator[str]:
    head = ("API", "/s", "queue ms", "local", "remote", "resp.q", "send", "total", "max")
    rows = [
        [
            load.api if load.plane == "plane data" else f"{load.api} ({load.plane})",
            _shown(load.per_s),
            *(f"{load.hops_ms[hop]:.3f}" for hop in HOPS),
            f"{load.total_ms:.3f}",
            f"{load.total_max_ms:.1f}",
        ]
        for load in api_loads(before, after)
    ]
    yield from columns(head, rows, [LEFT, *[RIGHT] * (len(head) - 1)])


def _queues(before: TreeSnapshot | None, after: TreeSnapshot) -> Iterator[str]:
    head = ("what waits", "now", "bound", "most", "oldest s", "done/s")
    rows = [
        [
            queue.path,
            str(queue.waiting),
            "-" if queue.bound is None else str(queue.bound),
            "-" if queue.most is None else str(queue.most),
            _shown(queue.oldest_s, digits=3),
            _shown(queue.done_per_s),
        ]
        for queue in queues(before, after)
    ]
    yield from columns(head, rows, [LEFT, *[RIGHT] * (len(head) - 1)])


def _shown(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
