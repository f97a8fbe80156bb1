from tests.benchmarks.bench_leaf import BOUNDS, Figure, missed, record_units


def test_units_over_records_run_with_leaf_or_twin() -> None:
    for unit in record_units().values():
        unit.call(unit.argument())


def test_missed_bound_of_the_leaf_is_reported() -> None:
    figures = {name: Figure(1.0, bound, bound) for name, bound in BOUNDS.items()}

    assert missed(figures) == []
    assert missed({"decode": Figure(1.0, 0.2, 0.2)}) == ["decode: 0.200 times the twin, want 0.1"]
