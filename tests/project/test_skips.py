"""The suite's own settings: what a skip means, and sizes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.tree import ROOT

pytestmark = pytest.mark.slow

SUITE = """
import pytest

def test_that_passes(size):
    assert size(1, 2) == 1

def test_that_is_skipped():
    pytest.skip("nothing to eat")

@pytest.mark.skip("never mind")
def test_that_is_marked():
    raise AssertionError

@pytest.mark.xfail(reason="known")
def test_that_is_known_to_fail():
    raise AssertionError
"""
MODULE = 'import pytest\npytest.importorskip("there_is_no_such_module")\n'


def run(directory: Path, environment: dict[str, str], *options: str) -> str:
    (directory / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (directory / "test_suite.py").write_text(SUITE)
    (directory / "test_module.py").write_text(MODULE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:randomly", "-c", "none.ini", "-rA", *options],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "none.ini").write_text("[pytest]\n")
    return tmp_path


def limit_of(printed: str) -> str | None:
    """Return the timeout that pytest says it has."""
    match = re.search(r"^timeout: (\S+)", printed, re.MULTILINE)
    return match and match[1]


def test_skipped_test_is_reported_as_skipped_outside_ci(directory: Path) -> None:
    printed = run(directory, {})

    assert "1 passed, 3 skipped, 1 xfailed" in printed
    assert limit_of(printed) is None


@pytest.mark.parametrize("environment", [{"CI": "true"}, {"TRIO_KAFKA_NO_SKIP": "1"}])
def test_skipped_test_is_a_failure_in_ci(directory: Path, environment: dict[str, str]) -> None:
    text = run(directory, environment, "--continue-on-collection-errors")

    assert "1 failed, 1 passed, 1 xfailed, 2 errors" in text
    for reason in ("nothing to eat", "never mind", "could not import 'there_is_no_such_module'"):
        assert f"a skip is a failure here: Skipped: {reason}" in text


@pytest.mark.parametrize(("options", "limit"), [([], "900.0s"), (["--timeout", "7"], "7.0s")])
def test_long_sizes_select_the_size_and_a_longer_timeout_unless_one_is_given(
    directory: Path, options: list[str], limit: str
) -> None:
    printed = run(directory, {}, "--sizes", "long", *options)

    assert "assert 2 == 1" in printed
    assert limit_of(printed) == limit
