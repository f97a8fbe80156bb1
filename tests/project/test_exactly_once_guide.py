"""docs/how-to/exactly-once.md: its programs run as tests, one for each client of Python."""

import pytest

from tests.project.guides import python_blocks, run_as_tests

pytestmark = pytest.mark.slow
pytest_plugins = ["pytester"]


def test_programs_in_the_guide_write_each_result_once(pytester: pytest.Pytester) -> None:
    blocks = python_blocks("how-to/exactly-once.md")

    assert len(blocks) == 3
    run_as_tests(pytester, blocks)
