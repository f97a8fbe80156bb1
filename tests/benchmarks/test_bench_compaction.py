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


def test_every_form_of_compaction_is_measured_with_every_load() -> None:
    figures = measure(SMALL, 400)

    assert set(figures) == {(load, form) for load in LOADS for form in FORMS}
    assert all(figure.speed > 0 for figure in figures.values())


def test_missed_compaction_bound_is_reported() -> None:
    slow = {key: Figure(bound / 2, 1.0) for key, bound in BOUNDS.items()}

    assert missed(slow)[0] == "16 KiB, rows: 0.10 M records/s, want 0.2"
    assert missed({key: Figure(bound, 1.0) for key, bound in BOUNDS.items()}) == []


def test_compaction_table_shows_every_load_and_form(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--records", "200"], SMALL)

    output = capsys.readouterr().out
    assert all(load in output for load in LOADS)
    assert all(form in output for form in FORMS)
