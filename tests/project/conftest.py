"""Fixtures of the tests of pages: one run of all Python blocks."""

import pytest

from tests.project.guides import Outcome, run_all


@pytest.fixture(scope="session")
def guides(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """How the Python blocks of all pages ended."""
    return run_all(tmp_path_factory.mktemp("guides"))
