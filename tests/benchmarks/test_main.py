from pathlib import Path

import pytest

from tests.benchmarks.__main__ import main, measure
from tests.benchmarks.brokers import Broker, running
from tests.benchmarks.figures import Figure
from tests.benchmarks.rows.registry import NotApplicableError, Target, all_rows, chosen_rows, row
from tests.benchmarks.server import Server


def target(name: str) -> Target:
    broker = Broker(name, ("127.0.0.1", 1), Server(1))
    return Target(broker=broker, seconds=1, limit=1, directory=Path())


def test_rows_are_found_by_name_and_by_pattern() -> None:
    assert {"start", "idle-2000", "produce-small-50x8"} <= set(all_rows())
    assert set(chosen_rows(["raw-*", "start"])) == {
        "start",
        "raw-100B-16kB",
        "raw-100B-900kB",
        "raw-10KiB-900kB",
    }


def test_a_pattern_without_a_row_is_an_error() -> None:
    with pytest.raises(ValueError, match="no row matches 'rawr'"):
        chosen_rows(["rawr"])


def test_two_rows_of_one_name_are_an_error() -> None:
    all_rows()
    with pytest.raises(ValueError, match="two rows are named 'start'"):
        row("start")(lambda _: {})


def test_brokers_take_turns_and_warm_ups_do_not_count() -> None:
    asked = []

    def run(where: Target) -> dict[str, Figure]:
        asked.append(where.broker.name)
        return {"CPU": Figure(len(asked), "µs")}

    results = measure(run, [target("a"), target("b")], warm_ups=1, repetitions=2)

    assert asked == ["a", "b"] * 3
    assert results == {"a": {"CPU": Figure(3, "µs")}, "b": {"CPU": Figure(4, "µs")}}


def test_a_broker_that_fails_is_not_asked_again_and_the_other_goes_on() -> None:
    asked = []

    def run(where: Target) -> dict[str, Figure]:
        asked.append(where.broker.name)
        if where.broker.name == "a":
            raise ConnectionError("gone")
        raise NotApplicableError("it runs already")

    results = measure(run, [target("a"), target("b")], warm_ups=0, repetitions=3)

    assert asked == ["a", "b"]
    assert results == {
        "a": "failed: ConnectionError: gone",
        "b": "not measured: it runs already",
    }


def test_the_rows_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "metadata-*"]) == 0
    assert capsys.readouterr().out.split() == ["metadata-1x32", "metadata-50x8"]


@pytest.mark.parametrize("text", ["", "a=b", "=h:1", "a=:1", "a=h:x"])
def test_a_running_broker_has_a_name_and_an_address(text: str) -> None:
    with pytest.raises(ValueError, match="want NAME=HOST:PORT"):
        running(text)
