"""Parameters of a walk that are marked long, and the tests that `make test` leaves out."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.lanes import Seeds, ends, offset_below, sampled, together
from tests.project.tree import ROOT

T = TypeVar("T")


def longs(values):
    """The parameters that `make test` leaves out."""
    return [value.values for value in values if getattr(value, "marks", ())]


def test_parameters_not_kept_for_the_short_suite_are_marked_long() -> None:
    result = sampled(
        ["a", ("b", 1), pytest.param("c", id="see")], lambda parameter: parameter == "a"
    )

    assert longs(result) == [("b", 1), ("c",)]
    assert result[0] == "a"
    assert result[2].id == "see"


def test_first_and_last_parameter_of_each_group_are_kept() -> None:
    walk = [(name, version) for name in "xy" for version in range(4)] + [("z", 0)]

    assert longs(ends(walk, group=lambda parameter: parameter[0])) == [
        ("x", 1),
        ("x", 2),
        ("y", 1),
        ("y", 2),
    ]


def repeated(choose: Callable[[], T]) -> list[T]:
    """Return the choices of twenty runs of other seeds, and again in those of the same seeds."""
    chosen = []
    for seed in [*range(20), *range(20)]:
        random.seed(seed)
        chosen.append(choose())
    return chosen


def test_walk_begins_at_any_of_its_first_places_and_again_at_that_of_the_same_run(capsys) -> None:
    chosen = repeated(lambda: offset_below(4))

    assert set(chosen) == {0, 1, 2, 3}
    assert chosen[:20] == chosen[20:]
    assert f"the walk begins at {chosen[-1]} of 4" in capsys.readouterr().out.splitlines()[-1]


def test_short_form_has_a_few_seeds_of_the_long_form_others_in_each_run(
    seeds: Seeds, pytestconfig: pytest.Config, capsys
) -> None:
    if pytestconfig.getoption("--sizes") == "long":
        assert seeds(3, 10) == range(10)
        return
    chosen = repeated(lambda: seeds(3, 10))

    assert len(set(chosen)) > 4
    assert set(chosen) <= {range(first, first + 3) for first in range(8)}
    assert chosen[:20] == chosen[20:]
    assert f"seeds {chosen[-1].start} to {chosen[-1].stop - 1}" in capsys.readouterr().out


SUITE = """
import pytest
from tests.lanes import sampled, together

@pytest.mark.parametrize("n", sampled(range(3), lambda n: n == 1))
def test_walk(n): pass

@pytest.mark.long
def test_long(): pass
"""


def collected(directory: Path, *options: str) -> list[str]:
    """The names of the tests that a run with these options would have."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly"]
    done = subprocess.run(
        [*command, "-c", "none.ini", *options],
        cwd=directory,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.slow
def test_short_suite_leaves_out_long_tests_and_benchmarks(tmp_path: Path) -> None:
    (tmp_path / "none.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_a.py").write_text(SUITE)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "test_b.py").write_text("def test_bench(): pass\n")

    assert collected(tmp_path) == ["test_walk[1]"]
    assert len(collected(tmp_path, "--sizes", "long")) == 5
    assert collected(tmp_path, "benchmarks/test_b.py") == ["test_bench"]


def test_cases_in_one_test_all_run_until_the_one_that_fails_which_is_named() -> None:
    seen = []

    @together([1, 2, 3], lambda number: f"number {number}")
    def check(number: int) -> None:
        seen.append(number)
        assert number < 2

    with pytest.raises(AssertionError) as error:
        check()

    assert seen == [1, 2]
    assert error.value.__notes__ == ["the case is number 2"]
