import json
import socket
from itertools import count
from pathlib import Path

import pytest

from tests.benchmarks import page
from tests.benchmarks.__main__ import judge, main, measure
from tests.benchmarks.bounds import Verdict, at_most, times_other
from tests.benchmarks.brokers import Broker, checkout_command, running
from tests.benchmarks.figures import Figure
from tests.benchmarks.rows.registry import (
    NotApplicableError,
    Row,
    Target,
    all_rows,
    chosen_rows,
    row,
)
from tests.benchmarks.server import Server
from trio_kafka.testing.processes import trio_kafka_command


def target(name: str) -> Target:
    broker = Broker(name, ("127.0.0.1", 1), Server(1))
    return Target(broker=broker, seconds=1, limit=1, directory=Path())


def test_benchmark_rows_are_chosen_by_name_and_by_pattern() -> None:
    assert {"start", "idle-5000", "produce-small-50x8"} <= set(all_rows())
    assert set(chosen_rows(["raw-*", "start"])) == {
        "start",
        "raw-1000-partitions",
        "raw-100B-16kB",
        "raw-100B-900kB",
        "raw-10KiB-900kB",
    }


def test_pattern_that_matches_no_row_is_an_error() -> None:
    with pytest.raises(ValueError, match="no row matches 'rawr'"):
        chosen_rows(["rawr"])


def test_two_rows_with_the_same_name_are_an_error() -> None:
    all_rows()
    with pytest.raises(ValueError, match="two rows are named 'start'"):
        row("start")(lambda _: {})


def test_brokers_are_measured_in_turn_and_warm_up_runs_do_not_count() -> None:
    brokers = []

    def run(where: Target) -> dict[str, Figure]:
        brokers.append(where.broker.name)
        return {"CPU": Figure(len(brokers), "µs")}

    results = measure(run, [target("a"), target("b")], warm_ups=1, repetitions=2)

    assert brokers == ["a", "b"] * 3
    assert results == {"a": {"CPU": Figure(3, "µs")}, "b": {"CPU": Figure(4, "µs")}}


@pytest.mark.parametrize(
    ("takes", "seconds", "runs"),
    [
        ([9, 9, 5], 0, 3),  # it does not get better
        ([9, 5, 3, 2.9, 2], 0, 5),  # it does, twice
        ([9, 5, 3, 1], 61, 3),  # and there is no time
    ],
)
def test_warm_up_continues_while_a_broker_gets_faster_and_time_remains(
    takes: list[float], seconds: float, runs: int
) -> None:
    costs = iter(takes)
    now = count(step=seconds)

    def run(_where: Target) -> dict[str, Figure]:
        return {"produce, server CPU": Figure(next(costs), "µs"), "client CPU": Figure(1, "µs")}

    results = measure(run, [target("a")], warm_ups=2, repetitions=1, elapsed=lambda: next(now))

    assert len(takes) - len(list(costs)) == runs
    result = results["a"]
    assert not isinstance(result, str)
    assert result["produce, server CPU"].value == takes[runs - 1]


def test_broker_that_fails_is_not_measured_again_and_the_next_broker_is_still_tried() -> None:
    brokers = []

    def run(where: Target) -> dict[str, Figure]:
        brokers.append(where.broker.name)
        if where.broker.name == "a":
            raise ConnectionError("gone")
        raise NotApplicableError("it runs already")

    results = measure(run, [target("a"), target("b")], warm_ups=0, repetitions=3)

    assert brokers == ["a", "b"]
    assert results == {
        "a": "failed: ConnectionError: gone",
        "b": "not measured: it runs already",
    }


def test_bounds_compare_the_first_broker_with_the_last_broker() -> None:
    bound = times_other("CPU", must=1, aim=0.5)
    row = Row(measure=lambda _: {}, bounds=(bound,))
    results = {name: {"CPU": Figure(value, "µs")} for name, value in (("a", 3), ("b", 9), ("c", 4))}

    assert judge(row, ["a", "b", "c"], results) == [Verdict(bound, 0.75)]
    assert judge(row, ["a"], results) == [Verdict(bound, None)]
    assert judge(row, ["a", "c"], {**results, "c": "failed: boom"}) == [Verdict(bound, None)]


@pytest.mark.parametrize(
    ("must", "arguments", "status"),
    [(1000, [], 0), (0.5, [], 0), (1000, ["--check"], 0), (0.5, ["--check"], 1)],
)
def test_missed_bound_fails_the_run_only_with_check(
    must: float,
    arguments: list[str],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bound = at_most("CPU", must=must, aim=0.1)
    cpu_row = Row(measure=lambda _: {"CPU": Figure(7, "µs")}, bounds=(bound,))
    monkeypatch.setattr("tests.benchmarks.__main__.chosen_rows", lambda _: {"one": cpu_row})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        broker = f"a=127.0.0.1:{listener.getsockname()[1]}"

        assert main([*arguments, "--broker", broker]) == status

    assert ("missed: 7, must 0.5" in capsys.readouterr().out) is (must == 0.5)


def test_bound_that_cannot_be_judged_fails_the_run_only_with_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound = times_other("CPU", must=1000, aim=1)  # and there is one broker only
    cpu_row = Row(measure=lambda _: {"CPU": Figure(7, "µs")}, bounds=(bound,))
    monkeypatch.setattr("tests.benchmarks.__main__.chosen_rows", lambda _: {"one": cpu_row})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        broker = f"a=127.0.0.1:{listener.getsockname()[1]}"

        assert main(["--broker", broker]) == 0
        assert main(["--check", "--broker", broker]) == 1


def test_failing_row_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Target) -> dict[str, Figure]:
        raise ConnectionError("gone")

    monkeypatch.setattr(
        "tests.benchmarks.__main__.chosen_rows", lambda _: {"one": Row(measure=fail)}
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert main(["--broker", f"a=127.0.0.1:{listener.getsockname()[1]}"]) == 1


def test_each_row_is_printed_and_kept_before_the_next_row_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept_page, kept_figures = tmp_path / "page.md", tmp_path / "figures.json"

    def first(_: Target) -> dict[str, Figure]:
        return {"CPU": Figure(7, "µs")}

    def second(_: Target) -> dict[str, Figure]:
        assert "first\n  CPU" in capsys.readouterr().out
        assert "## first\n" in kept_page.read_text()
        assert list(json.loads(kept_figures.read_text())) == ["first"]
        return {"CPU": Figure(8, "µs")}

    rows = {"first": Row(measure=first), "second": Row(measure=second)}
    monkeypatch.setattr("tests.benchmarks.__main__.chosen_rows", lambda _: rows)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        broker = f"a=127.0.0.1:{listener.getsockname()[1]}"
        files = ["--page", str(kept_page), "--json", str(kept_figures)]
        runs = ["--warm-ups", "0", "--repetitions", "1"]

        assert main([*files, *runs, "--broker", broker]) == 0

    assert list(page.sections_of(kept_page.read_text())) == ["first", "second"]


def test_no_row_has_two_bounds_with_the_same_comparison() -> None:
    for name, each in all_rows().items():
        bounds = [(bound.figure, bound.than) for bound in each.bounds]

        assert len(bounds) == len(set(bounds)), name
        assert all(bound.aim <= bound.must for bound in each.bounds), name


def test_option_list_prints_the_matching_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "metadata-*"]) == 0
    assert capsys.readouterr().out.split() == ["metadata-1x32", "metadata-50x8"]


def test_broker_of_another_checkout_runs_with_the_interpreter_of_that_checkout(
    tmp_path: Path,
) -> None:
    program, *arguments = checkout_command(tmp_path)(9092, tmp_path / "data", ["a=b"])

    assert program == str(tmp_path / ".venv" / "bin" / "python")
    assert arguments == trio_kafka_command(9092, tmp_path / "data", ["a=b"])[1:]


@pytest.mark.parametrize("text", ["", "a=b", "=h:1", "a=:1", "a=h:x"])
def test_running_broker_given_without_name_or_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="want NAME=HOST:PORT"):
        running(text)
