from tests.benchmarks.bench_simulate import MUST_MS, crash, measure


def test_simulated_run_with_a_crash_stays_within_its_cpu_bound() -> None:
    assert min(measure(crash, 5)) <= MUST_MS
