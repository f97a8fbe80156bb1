import pytest

from tests.benchmarks.comparison import (
    DEFAULT_ROWS,
    Comparison,
    OrderFigures,
    Run,
    comparisons_of,
    header,
    orders,
    render,
)
from tests.benchmarks.figures import Figure, rate
from tests.benchmarks.rows.registry import all_rows


def costs(*values: float) -> list[Figure]:
    return [Figure(value, "µs each") for value in values]


def run(base: float, tree: float) -> Run:
    return {
        "base": {"requests": rate(9, "/s"), "server CPU": Figure(base, "µs each")},
        "tree": {"requests": rate(9, "/s"), "server CPU": Figure(tree, "µs each")},
    }


def test_each_broker_is_first_in_one_order() -> None:
    assert orders("a", "b") == (("a", "b"), ("b", "a"))


def test_default_rows_exist() -> None:
    assert set(DEFAULT_ROWS) <= set(all_rows())


def test_ratio_of_an_order_is_that_of_the_best_runs() -> None:
    assert OrderFigures(base=costs(9, 4, 5), tree=costs(6, 8, 7)).ratio == 1.5


def test_ratio_is_the_geometric_mean_of_the_orders() -> None:
    comparison = Comparison(
        [OrderFigures(costs(10), costs(20)), OrderFigures(costs(10), costs(5 * 0.81))]
    )

    assert comparison.ratio == pytest.approx(0.9)


def test_order_that_favours_the_first_broker_cancels_out() -> None:
    bias = 1.2
    comparison = Comparison(
        [OrderFigures(costs(10), costs(10 * bias)), OrderFigures(costs(10 * bias), costs(10))]
    )

    assert comparison.ratio == pytest.approx(1)


def test_spread_is_the_range_of_the_ratios_of_runs_side_by_side() -> None:
    comparison = Comparison(
        [OrderFigures(costs(10, 20), costs(11, 24)), OrderFigures(costs(10), costs(13))]
    )

    assert comparison.spread == pytest.approx((1.1, 1.3))
    assert not comparison.is_noise


@pytest.mark.parametrize(("tree", "noise"), [(8, False), (9.9, False), (10, True), (12, True)])
def test_difference_is_noise_if_runs_disagree_about_it(tree: float, noise: bool) -> None:
    better = OrderFigures(costs(10), costs(9))

    assert Comparison([better, OrderFigures(costs(10), costs(tree))]).is_noise is noise


def test_table_has_a_line_for_each_cost_with_both_brokers_ratio_orders_and_spread() -> None:
    in_orders = [{"row": [run(10, 20), run(8, 16)]}, {"row": [run(10, 12.5), run(8, 14)]}]

    line = render("row", "base", "tree", in_orders)

    assert header("base", "tree").split() == [
        "server",
        "CPU",
        "base",
        "tree",
        "ratio",
        "each",
        "order",
        "runs",
    ]
    assert " ".join(line.split()) == ("row 8 µs each 12.5 µs each 1.77 2.00 1.56 1.25 to 2.00")


def test_line_of_a_transfer_names_its_figure_and_noise_is_marked() -> None:
    figures = {"fetch, server CPU": Figure(1, "s/GiB"), "fetch, client CPU": Figure(9, "s/GiB")}
    in_orders = [{"raw": [{"base": figures, "tree": figures}]}] * 2

    line = render("raw", "base", "tree", in_orders)

    assert line.startswith("raw fetch ")
    assert line.endswith("  noise")


def test_row_that_failed_has_its_reason_once_instead_of_figures() -> None:
    failed: Run = {**run(1, 1), "tree": "failed: boom"}
    in_orders = [{"row": [run(1, 1), failed]}, {"row": [failed, failed]}]

    assert comparisons_of("row", "base", "tree", in_orders) == {}
    assert render("row", "base", "tree", in_orders) == "row: tree: failed: boom"
