"""The comparison with Spark's own connector, without Spark."""

import pytest

from tests.benchmarks.spark import ROWS, Cost, Row, best, judged, scaled

ROW = Row(name="r", group="read", records=10, size=1, most_cpu=0.8, most_wall=1.5)


def costs(ours: Cost, official: Cost) -> dict[str, Cost]:
    return {"kafka": official, "trio-kafka": ours}


def test_best_of_several_runs_is_kept_for_each_figure() -> None:
    assert best([Cost(1.0, 5.0, 0.2), Cost(2.0, 4.0, 0.1)]) == Cost(1.0, 4.0, 0.1)


@pytest.mark.parametrize(
    ("ours", "held"),
    [
        (Cost(1.5, 0.8, 9.0), True),
        (Cost(1.6, 0.8, 0.0), False),
        (Cost(1.5, 0.9, 0.0), False),
    ],
)
def test_spark_bound_is_a_multiple_of_the_cost_of_the_official_connector(
    ours: Cost, held: bool
) -> None:
    lines, result = judged(ROW, costs(ours, Cost(1.0, 1.0, 1.0)))

    assert result is held
    assert ("MISSED" in lines[-1]) is not held


def test_row_without_a_bound_is_never_missed() -> None:
    row = Row(name="r", group="read", records=1, size=1)

    _, result = judged(row, costs(Cost(9.0, 9.0, 9.0), Cost(1.0, 1.0, 1.0)))

    assert result


def test_cost_of_plain_python_is_reported_without_a_bound() -> None:
    result = costs(Cost(1.5, 0.8, 9.0), Cost(1.0, 1.0, 1.0)) | {"floor": Cost(1.0, 0.4, 0.0)}

    lines, held = judged(ROW, result)

    assert held
    assert lines[-1].endswith("times the floor of Python: CPU 2.00 wall 1.50")


def test_number_of_records_is_scaled_by_the_given_factor() -> None:
    assert scaled(ROW, 0.5).records == 5
    assert [row.records for row in ROWS if row.group == "stream"] == [2_000_000, 0]
