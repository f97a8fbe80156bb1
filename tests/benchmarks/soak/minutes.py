"""Figures of a server under load, minute by minute, and whether its memory is what it was."""

import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import frozen

from tests.benchmarks.brokers import Broker
from tests.benchmarks.soak.load import Load
from tests.benchmarks.tree import figures_of, rows_of

SETTLED_MINUTE: Final = 5
TOLERANCE: Final = 0.1
FIGURES: Final = {
    ("part", "log-manager"): "logs",
    ("file", "open-files"): "open",
    ("part", "fetch-sessions"): "sessions",
    ("purgatory", "Fetch"): "waiting",
    ("purgatory", "Produce"): "waiting",
    ("job", "timers"): "dead",
}


@frozen
class Minute:
    """rss: the median of a reading a second, bytes. cores: CPU of the server. counts: its tree."""

    number: int
    rss: float
    cores: float
    counts: Mapping[str, int]

    def __str__(self) -> str:
        counts = "  ".join(f"{name} {count}" for name, count in self.counts.items())
        return f"{self.number:4} min  {self.rss / 1e6:7.1f} MB  {self.cores:5.2f} cores  {counts}"


def observe(load: Load, minutes: int, minute_s: float = 60.0) -> Iterator[Minute]:
    """One after the other; ends early where the load has stopped."""
    server = load.broker.server
    for number in range(1, minutes + 1):
        cpu_s, began, collected = server.cpu_s(), time.monotonic(), [server.rss()]
        while (remaining_s := began + minute_s - time.monotonic()) > 0:
            if load.stop.wait(min(remaining_s, 1)):
                return
            collected.append(server.rss())
        cores = (server.cpu_s() - cpu_s) / (time.monotonic() - began)
        yield Minute(number, statistics.median(collected), cores, tree_counts(load.broker))


def tree_counts(broker: Broker) -> dict[str, int]:
    """How many nodes of each kind the tree has, and what tells of parts that may grow."""
    counts: Counter[str] = Counter()
    figures: dict[str, int] = {}
    for row in rows_of(broker.address):
        counts[row.kind] += 1
        name = FIGURES.get((row.kind, row.name))
        if name is not None:
            figures[f"{row.name}.{name}"] = int(figures_of(row)[name] or 0)
    return {**dict(sorted(counts.items())), **figures}


def verdict(rss: Mapping[int, float]) -> tuple[bool, str]:
    """Whether memory is what it was. rss: bytes by minute."""
    last = max(rss, default=0)
    if last <= SETTLED_MINUTE:
        return True, f"RSS: not judged, it takes more than {SETTLED_MINUTE} minutes"
    settled = rss[SETTLED_MINUTE]
    met = abs(rss[last] - settled) <= TOLERANCE * settled
    return met, (
        f"RSS after {last} minutes is {rss[last] / settled:.3f} times that after {SETTLED_MINUTE}:"
        f" {'met' if met else 'missed'} (1, give or take {TOLERANCE:.0%})"
    )
