"""docs/how-to/test-your-application.md and the README: their tests run as they stand."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from tests.project.tree import ROOT
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka.testing.pytest_plugin import SCOPES

pytestmark = pytest.mark.slow
pytest_plugins = ["pytester"]

GUIDE = (ROOT / "docs" / "how-to" / "test-your-application.md").read_text()
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
OPTIONS = ["-p", "no:randomly", "-p", "no:asyncio", "-p", "no:cacheprovider", "-q"]


def test_tests_shown_in_the_testing_guide_and_the_readme_pass(pytester: pytest.Pytester) -> None:
    blocks = [dedent(block) for block in BLOCK.findall(GUIDE)]
    blocks += [block for block in BLOCK.findall(README) if "def test_" in block]
    for number, block in enumerate(blocks):
        Path(pytester.path, f"test_block{number}.py").write_text(block)
    wanted = sum(len(re.findall(r"def test_", block)) for block in blocks)

    done = pytester.runpytest_subprocess(*OPTIONS)

    assert wanted >= 8
    done.assert_outcomes(passed=wanted)


def test_testing_guide_names_every_method_of_the_kafka_fixture_and_every_option() -> None:
    public = {name for name in vars(Kafka) if not name.startswith("_")}
    left_out = {"broker", "look", "is_running", "is_paused"}

    assert [
        name for name in public - left_out if f"`{name}" not in GUIDE and f" {name}" not in GUIDE
    ] == []
    assert [scope for scope in SCOPES if f"`{scope}`" not in GUIDE] == []


def test_example_test_in_the_readme_has_at_most_eight_lines_of_code() -> None:
    (block,) = [block for block in BLOCK.findall(README) if "def test_" in block]

    assert len([line for line in block.splitlines() if line]) <= 8
