"""Figures of benchmarks."""

import json
from array import array

from trio_kafka.cli.bench.measurement import Measurement, percentile


def test_percentile_is_the_smallest_value_that_covers_the_share() -> None:
    ordered = [float(value) for value in range(1, 101)]

    assert percentile(ordered, 50.0) == 50.0
    assert percentile(ordered, 99.0) == 99.0
    assert percentile(ordered, 99.9) == 100.0
    assert percentile([7.0], 50.0) == 7.0


def test_figures_are_rates_and_latencies() -> None:
    measurement = Measurement(
        records=1000,
        bytes=2_000_000,
        seconds=2.0,
        cpu_seconds=0.01,
        latencies_ms=array("d", [3.0, 1.0, 2.0]),
    )

    assert list(measurement.lines()) == [
        "1,000 records, 2.0 MB in 2.00 s",
        "500 records/s, 1.00 MB/s; 10.0 us of this client's CPU a record",
        "latency, ms: mean 2.00  p50 2.00  p95 3.00  p99 3.00  p99.9 3.00  max 3.00",
    ]
    data = json.loads(json.dumps(measurement.as_data()))
    assert (data["records_per_s"], data["cpu_us_per_record"]) == (500.0, 10.0)
    assert data["latency_ms"]["max"] == 3.0


def test_benchmark_without_records_has_no_rates() -> None:
    assert list(Measurement().lines()) == ["0 records, 0.0 MB in 0.00 s"]
    assert Measurement().as_data()["records_per_s"] is None
    assert "latency_ms" not in Measurement().as_data()
