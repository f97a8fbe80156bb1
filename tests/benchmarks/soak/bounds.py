"""A broker's own figures of its queues, pools and connections, and the bound of each.

Peaks are the broker's own where it keeps them (`high_water`, `least`), else those of a look a
second. What must be given back is looked at when the load has ended.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from attrs import define, field, frozen

from tests.benchmarks.brokers import Broker
from tests.benchmarks.soak.load import Load
from tests.benchmarks.tree import figures_of, rows_of
from trio_kafka.cli.broker_client import BrokerClientError
from trio_kafka.protocol.messages.k10001_describe_tree import TreeRow

HELD = 1000  # sockets of hasty addresses that wait for their end
OTHERS = 100  # descriptors and tasks of everything but connections and files
_SETTLES_S = 60.0
_GLANCE_S = 0.5
_OWN = 2  # connections of whoever looks
_IN_A_LINE = 5
_TRIES = 5
_MB = 1e6


@frozen(kw_only=True)
class Limits:
    """connections: of the broker. storm: of the listener STORM. pool, largest: bytes."""

    connections: int
    storm: int
    pool: int
    largest: int

    @property
    def memory(self) -> int:
        """How much the process may grow: the pool, a request that overdraws it, 64 KiB for each
        connection, and as much as the pool for what Python keeps.
        """
        return 2 * self.pool + self.largest + (64 << 10) * self.connections


@define
class Bound:
    """The most that was seen of something, and what it may be."""

    limit: float
    most: float = 0.0

    @property
    def kept(self) -> bool:
        return self.most <= self.limit

    def verdict(self, name: str) -> str:
        over = "kept" if self.kept else f"exceeded by {show(self.most - self.limit)}"
        return f"{name}: {show(self.most)} of {show(self.limit)}: {over}"


@define
class AuditInterceptor:
    """Of one broker under a load. seen: what was seen last, for people."""

    broker: Broker
    limits: Limits
    bounds: dict[str, Bound] = field(factory=dict, init=False)
    now: dict[str, float] = field(factory=dict, init=False)
    _at_first: dict[str, float] = field(factory=dict, init=False)

    def minutes(self, load: Load, minutes: int, minute_s: float = 60.0) -> Iterator[str]:
        """A line of each minute; a look a second. Ends early where the load has stopped."""
        for number in range(1, minutes + 1):
            cpu_s, began = self.broker.server.cpu_s(), time.monotonic()
            while (remaining_s := began + minute_s - time.monotonic()) > 0:
                if load.stop.wait(min(remaining_s, 1)):
                    return
                self.look()
            cores = (self.broker.server.cpu_s() - cpu_s) / (time.monotonic() - began)
            yield f"{number:4} min  {cores:5.2f} cores\n{self.report()}"

    def begin(self) -> None:
        """Note the broker's figures before the load."""
        self.look()
        self._at_first = dict(self.now)
        self.bounds = {}

    def report(self) -> str:
        """The last figures, with bound and peak of those that have a bound."""
        entries = [f"{name} {show(value)}{self._of(name)}" for name, value in self.now.items()]
        lines = [
            "    ".join(entries[at : at + _IN_A_LINE]) for at in range(0, len(entries), _IN_A_LINE)
        ]
        return "\n".join(f"      {line}" for line in lines)

    def _of(self, name: str) -> str:
        bound = self.bounds.get(name)
        return "" if bound is None else f" of {show(bound.limit)} (most {show(bound.most)})"

    def verdicts(self) -> tuple[bool, list[str]]:
        """Whether all bounds were kept, and a line of each."""
        lines = [bound.verdict(name) for name, bound in sorted(self.bounds.items())]
        return all(bound.kept for bound in self.bounds.values()), lines

    # --- looking

    def look(self) -> None:
        """SendRequest the broker once."""
        limits, now = self.limits, self.now
        now.clear()
        rss = self.broker.server.rss() / _MB
        self._add("RSS MB", rss, self._at_first.get("RSS MB", rss) + limits.memory / _MB)
        buffers = unsent = 0.0
        for row in self._rows():
            figures = {
                name: value
                for name, value in figures_of(row).items()
                if isinstance(value, int | float)
            }
            if row.kind == "connection":
                buffers += figures.get("buffer", 0)
                unsent += figures.get("unsent", 0)
            elif row.kind == "channel" and "bound" in figures:
                self._add(row.name, figures["depth"], figures["bound"], figures["high_water"])
            else:
                self._read(row.kind, row.name, figures)
        self._add("buffers MB", buffers / _MB, (limits.pool + limits.largest) / _MB)
        now["unsent MB"] = unsent / _MB
        now["descriptors"] = len(list(Path(f"/proc/{self.broker.server.pid}/fd").iterdir()))
        files = now.get("open files", 0)
        self._note("descriptors", limits.connections + HELD + files + OTHERS)

    def _rows(self) -> list[TreeRow]:
        """Rows of the tree; tried again, as the processor of this client may end while it waits."""
        for _ in range(_TRIES):
            try:
                return rows_of(self.broker.address)
            except (BrokerClientError, OSError) as error:
                failed = error
        raise failed

    def _read(self, kind: str, name: str, figures: dict[str, float]) -> None:
        limits, now = self.limits, self.now
        match kind, name:
            case "part", "memory-pool":
                now["pool waiting"] = figures["waiting"]
                self._note("pool waiting", limits.connections)
                used, most = figures["MemoryPoolUsed"], figures["size"] - figures["least"]
                limit = (limits.pool + limits.largest) / _MB
                self._add("pool MB", used / _MB, limit, most / _MB)
            case "part", "connection-limits":
                self._add("connections", figures["connections"], limits.connections)
                self._add("held", figures["held"], HELD)
            case "part", "STORM" if "connections" in figures:
                self._add("connections of STORM", figures["connections"], limits.storm)
            case "purgatory", _:
                self._add(f"{name} parked", figures["waiting"], limits.connections)
            case "part", "fetch-sessions":
                self._add("sessions", figures["sessions"], figures["slots"])
            case "file", "open-files":
                self._add("open files", figures["open"], figures["budget"])
            case "part", "loop" if "tasks" in figures:
                first = self._at_first.get("tasks", figures["tasks"])
                self._add("tasks", figures["tasks"], first + OTHERS)
                now["lag ms"] = figures["lag_ms"]

    def _add(self, name: str, value: float, limit: float, most: float | None = None) -> None:
        """One that may stand in the tree more than once: the fullest counts."""
        self.now[name] = max(self.now.get(name, 0), value)
        self._note(name, limit, most)

    def _note(self, name: str, limit: float, most: float | None = None) -> None:
        bound = self.bounds.setdefault(name, Bound(limit))
        bound.limit = limit
        bound.most = max(bound.most, self.now[name] if most is None else most)

    # --- afterwards

    def settle(self) -> None:
        """Wait until the broker has given back what the load had; what it keeps is a bound."""
        ends = time.monotonic() + _SETTLES_S
        peaks = dict(self.bounds)
        while True:
            self.look()
            bounds_after = self._bounds_after_load()
            if all(bound.kept for bound in bounds_after.values()) or time.monotonic() > ends:
                break
            time.sleep(_GLANCE_S)
        self.bounds = peaks | bounds_after

    def _bounds_after_load(self) -> dict[str, Bound]:
        first = self._at_first
        limits = {
            "connections": first["connections"] + _OWN,
            "tasks": first["tasks"] + 10,
            "descriptors": first["descriptors"] + self.now["open files"] + 20,
            "Produce parked": 0,
            "Fetch parked": 0,
            "requests": 0,
            "pool waiting": 0,
            "pool MB": 0.001,
            "unsent MB": 0,
            "held": 0,
        }
        return {
            f"after the load, {name}": Bound(limit, self.now[name])
            for name, limit in limits.items()
        }


def show(value: float) -> str:
    """A number as short as can be."""
    return f"{value:.{1 if value >= 1 else 3}f}".rstrip("0").rstrip(".")
