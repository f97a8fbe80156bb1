"""Which parameters of a walk are marked long, and which tests `make test` leaves out."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lanes import ends, sampled
from tests.project.tree import ROOT


def longs(values):
    """The parameters that `make test` leaves out."""
    return [one.values for one in values if getattr(one, "marks", ())]


def test_parameters_not_kept_for_the_short_suite_are_marked_long() -> None:
    found = sampled(["a", ("b", 1), pytest.param("c", id="see")], lambda one: one == "a")

    assert longs(found) == [("b", 1), ("c",)]
    assert found[0] == "a"
    assert found[2].id == "see"


def test_first_and_last_parameter_of_each_group_are_kept() -> None:
    walk = [(name, version) for name in "xy" for version in range(4)] + [("z", 0)]

    assert longs(ends(walk, group=lambda one: one[0])) == [("x", 1), ("x", 2), ("y", 1), ("y", 2)]


SUITE = """
import pytest
from tests.lanes import sampled

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
