"""A design page has a question, an answer and at most 100 lines (style, section 10)."""

import pytest

from tests.project.tree import ROOT

DESIGN = ROOT / "docs" / "design"
MOST_LINES = 100
PAGES = {path.stem for path in DESIGN.glob("*.md")}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_design_page_has_at_most_100_lines_a_question_and_an_answer(name: str) -> None:
    text = (DESIGN / f"{name}.md").read_text()

    assert len(text.splitlines()) <= MOST_LINES
    assert "**Question.**" in text
    assert "**Answer.**" in text
