"""docs/how-to/test-your-application.md and the README: their tests run as they stand."""

import pytest

from tests.project.guides import BLOCK, python_blocks, run_as_tests
from tests.project.tree import ROOT
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka.testing.pytest_plugin import SCOPES

pytestmark = pytest.mark.slow
pytest_plugins = ["pytester"]

GUIDE = (ROOT / "docs" / "how-to" / "test-your-application.md").read_text()
README = (ROOT / "README.md").read_text()


def test_tests_shown_in_the_testing_guide_and_the_readme_pass(pytester: pytest.Pytester) -> None:
    blocks = python_blocks("how-to/test-your-application.md")
    blocks += [block for block in BLOCK.findall(README) if "def test_" in block]

    assert sum(block.count("def test_") for block in blocks) >= 8
    run_as_tests(pytester, blocks)


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
