import pytest

from tests.benchmarks.bench_compaction import (
    BOUNDS,
    FORMS,
    LOADS,
    Figure,
    Load,
    main,
    measure,
    missed,
)

SMALL = {name: Load(20, load.codec) for name, load in LOADS.items()}


def test_each_form_cleans_each_load() -> None:
    figures = measure(SMALL, 400)

    assert set(figures) == {(load, form) for load in LOADS for form in FORMS}
    assert all(figure.speed > 0 for figure in figures.values())


def test_a_missed_bound_is_told() -> None:
    slow = {key: Figure(bound / 2, 1.0) for key, bound in BOUNDS.items()}

    assert missed(slow)[0] == "16 KiB, rows: 0.10 M records/s, want 0.2"
    assert missed({key: Figure(bound, 1.0) for key, bound in BOUNDS.items()}) == []


def test_the_table_names_all_figures(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--records", "200"], SMALL)

    output = capsys.readouterr().out
    assert all(load in output for load in LOADS)
    assert all(form in output for form in FORMS)
