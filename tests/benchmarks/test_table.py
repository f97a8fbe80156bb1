from tests.benchmarks import table
from tests.benchmarks.figures import Figure, rate


def test_a_row_shows_each_figure_of_each_broker_and_the_ratio() -> None:
    ours = {"CPU": Figure(12.0, "µs"), "requests": rate(20_000, "/s")}
    theirs = {"CPU": Figure(4.0, "µs"), "requests": rate(40_000, "/s")}

    lines = table.render("small", ["a", "b"], {"a": ours, "b": theirs}).splitlines()

    assert [line.split() for line in lines] == [
        ["small"],
        ["CPU", "12", "µs", "4", "µs", "3.00"],
        ["requests", "20", "k", "/s", "40", "k", "/s", "2.00"],
    ]


def test_a_broker_that_failed_says_why_and_the_other_has_its_figures() -> None:
    text = table.render("small", ["a", "b"], {"a": "failed: boom", "b": {"CPU": Figure(4, "µs")}})

    assert [line.split() for line in text.splitlines()] == [
        ["small"],
        ["CPU", "-", "4", "µs"],
        ["a:", "failed:", "boom"],
    ]


def test_numbers_have_three_digits_that_count() -> None:
    shown = [table.number(value) for value in (0.1234, 12.34, 999.6, 1234, 45_678, 7_654_321)]

    assert shown == ["0.123", "12.3", "1e+03", "1234", "45.7 k", "7.65 M"]
