"""docs/how-to/produce-with-trio.md: its programs run as tests."""

import pytest

from tests.project.guides import Outcome

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]


def test_programs_in_the_guide_store_their_records(guides: Outcome) -> None:
    guides.check("produce")
