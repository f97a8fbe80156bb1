"""docs/how-to/exactly-once.md: its programs run as tests, one for each client of Python."""

import pytest

from tests.project.guides import Outcome

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]


def test_programs_in_the_guide_write_each_result_once(guides: Outcome) -> None:
    guides.check("exactly_once")
