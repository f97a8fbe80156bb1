from tests.benchmarks.bench_simulate import MUST_MS, crash, measure


def test_a_run_with_a_crash_takes_little_cpu() -> None:
    assert min(measure(crash, 5)) <= MUST_MS
