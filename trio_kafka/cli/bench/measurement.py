"""Figures of a benchmark, for people and for programs."""

from array import array
from collections.abc import Iterator
from typing import Final

from attrs import field

from trio_kafka.attributes import define

PERCENTILES: Final = (50.0, 95.0, 99.0, 99.9)


@define(eq=False, kw_only=True)
class Measurement:
    """Records and times of a benchmark. bytes: of keys and values.

    seconds: wall time. cpu_seconds: of this process. latencies_ms: of records, in any order.
    """

    records: int = 0
    bytes: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    latencies_ms: "array[float]" = field(factory=lambda: array("d"))

    def as_data(self) -> dict[str, object]:
        """Return the figures for JSON; rates are null without time or records."""
        data: dict[str, object] = {
            "records": self.records,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "records_per_s": self._rate(self.records),
            "bytes_per_s": self._rate(self.bytes),
            "cpu_us_per_record": self.cpu_seconds * 1e6 / self.records if self.records else None,
        }
        if self.latencies_ms:
            data["latency_ms"] = self.latency_ms()
        return data

    def latency_ms(self) -> dict[str, float]:
        """Return mean, percentiles and maximum of the latencies. Sorts them once."""
        ordered = sorted(self.latencies_ms)
        return {
            "mean": sum(ordered) / len(ordered),
            **{f"p{percent:g}": percentile(ordered, percent) for percent in PERCENTILES},
            "max": ordered[-1],
        }

    def lines(self) -> Iterator[str]:
        """Yield the figures as text."""
        megabytes = self.bytes / 1e6
        yield f"{self.records:,} records, {megabytes:,.1f} MB in {self.seconds:.2f} s"
        if self.records and self.seconds:
            cpu_us = self.cpu_seconds * 1e6 / self.records
            yield (
                f"{self.records / self.seconds:,.0f} records/s,"
                f" {megabytes / self.seconds:,.2f} MB/s;"
                f" {cpu_us:.1f} us of this client's CPU a record"
            )
        if self.latencies_ms:
            figures = self.latency_ms().items()
            yield "latency, ms: " + "  ".join(f"{name} {value:.2f}" for name, value in figures)

    def _rate(self, count: int) -> float | None:
        return count / self.seconds if self.seconds else None


def percentile(ordered: list[float], percent: float) -> float:
    """Return the smallest value that at least `percent` of the sorted values do not exceed."""
    rank = -(-len(ordered) * percent // 100)  # rounded up
    return ordered[max(int(rank) - 1, 0)]
