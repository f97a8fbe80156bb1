"""The recipe of `examples/testing/pyspark`: its tests pass as they stand."""

import subprocess
import sys

import pytest

from tests.project.tree import ROOT

RECIPE = ROOT / "examples" / "testing" / "pyspark"


@pytest.mark.long
@pytest.mark.spark
def test_the_tests_of_the_spark_recipe_pass() -> None:
    # The first test starts a session, for which this project's own limit is short.
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--timeout=160"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=RECIPE,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
