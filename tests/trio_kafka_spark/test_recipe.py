"""The recipe of `examples/testing/pyspark`: its tests pass as they stand."""

import subprocess
import sys

import pytest

from tests.project.tree import ROOT

RECIPE = ROOT / "examples" / "testing" / "pyspark"


@pytest.mark.long
@pytest.mark.spark
def test_the_recipes_own_tests_pass() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"],
        cwd=RECIPE,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
