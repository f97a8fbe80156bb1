"""Figures of one row: what was measured, its unit, and which direction is better.

A figure of several runs is the best of them: other load on the machine only makes it worse.
"""

import time
from collections.abc import Iterable, Mapping
from types import TracebackType

from attrs import frozen

from tests.benchmarks.server import Server

GIB = 1 << 30


@frozen
class Figure:
    value: float
    unit: str
    more_is_better: bool = False

    def worse_by(self, other: "Figure") -> float:
        """How many times worse than `other`; below 1 is better. Infinite beside nothing."""
        worse, better = (other, self) if self.more_is_better else (self, other)
        return worse.value / better.value if better.value else float("inf")


Figures = Mapping[str, Figure]


def rate(value: float, unit: str) -> Figure:
    return Figure(value, unit, more_is_better=True)


def best(runs: Iterable[Figures]) -> dict[str, Figure]:
    """The best of each figure."""
    result: dict[str, Figure] = {}
    for run in runs:
        for name, figure in run.items():
            if name not in result or figure.worse_by(result[name]) < 1:
                result[name] = figure
    return result


class Meter:
    """Wall time, and CPU time of both sides, between the ends of its block."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def __enter__(self) -> "Meter":
        self._server_cpu, self._client_cpu = self._server.cpu_s(), time.process_time()
        self._began = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.wall_s = time.perf_counter() - self._began
        self.server_cpu_s = self._server.cpu_s() - self._server_cpu
        self.client_cpu_s = time.process_time() - self._client_cpu

    def requests(self, count: int) -> Figures:
        return {
            "requests": rate(count / self.wall_s, "/s"),
            "server CPU": Figure(self.server_cpu_s / count * 1e6, "µs each"),
            "client CPU": Figure(self.client_cpu_s / count * 1e6, "µs each"),
        }

    def transfer(self, name: str, size: int) -> Figures:
        """MB is 10^6 bytes, GiB 2^30."""
        return {
            name: rate(size / 1e6 / self.wall_s, "MB/s"),
            f"{name}, server CPU": Figure(self.server_cpu_s / (size / GIB), "s/GiB"),
            f"{name}, client CPU": Figure(self.client_cpu_s / (size / GIB), "s/GiB"),
        }
