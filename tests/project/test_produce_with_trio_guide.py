"""docs/how-to/produce-with-trio.md: its programs run as tests."""

import pytest

from tests.project.guides import python_blocks, run_as_tests

pytestmark = pytest.mark.slow
pytest_plugins = ["pytester"]


def test_programs_in_the_guide_store_their_records(pytester: pytest.Pytester) -> None:
    blocks = python_blocks("how-to/produce-with-trio.md")

    assert len(blocks) == 3
    run_as_tests(pytester, blocks)
