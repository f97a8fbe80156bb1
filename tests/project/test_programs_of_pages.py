"""Pages of the clients and of the test kit, and the README: their Python blocks run as tests."""

import pytest

from tests.project.guides import PAGES, Outcome, run_all

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """How the blocks of all pages ended."""
    return run_all(tmp_path_factory.mktemp("pages"))


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_of_a_page_pass_as_tests(outcome: Outcome, page: str) -> None:
    outcome.check(page)
