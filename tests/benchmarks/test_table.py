from tests.benchmarks import table
from tests.benchmarks.bounds import at_most, times_other, times_own
from tests.benchmarks.figures import Figure, rate


def test_table_row_shows_each_figure_of_each_broker_and_the_ratio() -> None:
    ours = {"CPU": Figure(12.0, "µs"), "requests": rate(20_000, "/s")}
    theirs = {"CPU": Figure(4.0, "µs"), "requests": rate(40_000, "/s")}

    lines = table.render("small", ["a", "b"], {"a": ours, "b": theirs}).splitlines()

    assert [line.split() for line in lines] == [
        ["small"],
        ["CPU", "12", "µs", "4", "µs", "3.00"],
        ["requests", "20", "k", "/s", "40", "k", "/s", "2.00"],
    ]


def test_table_shows_the_error_of_a_failed_broker_and_the_figures_of_the_other() -> None:
    text = table.render("small", ["a", "b"], {"a": "failed: boom", "b": {"CPU": Figure(4, "µs")}})

    assert [line.split() for line in text.splitlines()] == [
        ["small"],
        ["CPU", "-", "4", "µs"],
        ["a:", "failed:", "boom"],
    ]


def test_numbers_are_shown_with_three_significant_digits() -> None:
    shown = [table.number(value) for value in (0.1234, 12.34, 999.6, 1234, 45_678, 7_654_321)]

    assert shown == ["0.123", "12.3", "1e+03", "1234", "45.7 k", "7.65 M"]


OURS = {"CPU": Figure(12.0, "µs"), "CPU of 10": Figure(10.0, "µs"), "RSS": Figure(80, "MB")}
THEIRS = {"CPU": Figure(10.0, "µs"), "RSS": Figure(400, "MB")}


def test_table_shows_each_bound_beside_its_figure_as_met_or_missed() -> None:
    bounds = [times_other("CPU", must=1.5, aim=1), at_most("RSS", must=70, aim=50)]
    verdicts = [bound.judge(OURS, THEIRS) for bound in bounds]

    text = table.render("row", ["a", "b"], {"a": OURS, "b": THEIRS}, verdicts)

    _, cpu, other, rss = text.splitlines()
    assert cpu.endswith("  1.20  must 1.5 met, aim 1 missed")
    assert other.endswith(" -")
    assert rss.endswith("  0.20  must 70 missed, aim 50 missed")


def test_bound_within_a_row_shows_the_figure_compared_with() -> None:
    verdict = times_own("CPU", "CPU of 10", must=2, aim=1.2).judge(OURS, THEIRS)

    assert table.show_verdict(verdict) == "1.20 times 'CPU of 10': must 2 met, aim 1.2 met"


def test_two_bounds_of_a_figure_are_shown_on_the_same_line() -> None:
    bounds = [at_most("CPU", must=10, aim=5), times_own("CPU", "CPU of 10", must=2, aim=1.2)]
    verdicts = [bound.judge(OURS, {}) for bound in bounds]

    text = table.render("row", ["a"], {"a": OURS}, verdicts)

    assert text.splitlines()[1].endswith(
        "  must 10 missed, aim 5 missed; 1.20 times 'CPU of 10': must 2 met, aim 1.2 met"
    )


def test_bound_without_figures_is_shown_as_not_judged() -> None:
    verdict = times_other("CPU", must=1.5, aim=1).judge({}, {})

    lines = table.render("row", ["a"], {"a": "failed: boom"}, [verdict]).splitlines()

    assert [line.split() for line in lines] == [
        ["row"],
        ["CPU", "-", "must", "1.5,", "aim", "1:", "not", "judged"],
        ["a:", "failed:", "boom"],
    ]


def test_summary_counts_the_bounds_and_names_each_missed_bound() -> None:
    first = [times_other("CPU", must=1.5, aim=1), at_most("RSS", must=70, aim=50)]
    second = [times_other("p50", must=2, aim=1)]
    verdicts = {
        "one": [bound.judge(OURS, THEIRS) for bound in first],
        "other": [bound.judge(OURS, THEIRS) for bound in second],
    }

    assert table.summary(verdicts).splitlines() == [
        "bounds: 1 of 3 met, 0 of 3 aims met",
        "  one, RSS: missed: 80, must 70",
        "  other, p50: not judged",
    ]
    assert table.summary({"row": []}) == "bounds: none"
