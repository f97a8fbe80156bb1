"""News for users is in docs/changes.d, one file per change."""

import re

from tests.project.tree import ROOT

FRAGMENTS = ROOT / "docs" / "changes.d"
NAME = re.compile(r"(?:\d+-|\+)[a-z0-9-]+\.(feature|bugfix|removal|doc|misc)\.md")


def test_file_name_of_every_news_fragment_says_the_kind_of_change() -> None:
    names = [
        path.name for path in FRAGMENTS.iterdir() if path.name not in (".gitignore", "README.md")
    ]

    assert [name for name in names if not NAME.fullmatch(name)] == []


def test_every_news_fragment_has_text_that_ends_with_a_full_stop() -> None:
    for path in FRAGMENTS.glob("*.*.md"):
        text = path.read_text().strip()

        assert text, f"{path.name} is empty"
        assert text.endswith("."), f"{path.name}: a sentence ends with a full stop"
        assert len(text) <= 400, f"{path.name}: {len(text)} characters are a page, not news"
