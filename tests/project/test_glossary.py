"""docs/glossary.md stays short: a stranger learns few terms of our own."""

import re

from tests.project.tree import ROOT

PAGE = (ROOT / "docs" / "glossary.md").read_text()
MOST_TERMS = 63


def rows() -> list[tuple[str, str]]:
    return re.findall(r"^\| (?!term \||---)(.+?) \| (.+) \|$", PAGE, re.MULTILINE)


def names() -> list[str]:
    """All terms; a row may define several, which count one by one."""
    return [name for terms, _ in rows() for name in re.sub(r" \(.*?\)", "", terms).split(", ")]


def test_glossary_defines_few_terms() -> None:
    assert 0 < len(names()) <= MOST_TERMS


def test_every_row_of_the_glossary_is_read() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("|")]

    assert len(rows()) == len(lines) - 2


def test_terms_of_the_glossary_are_sorted_and_defined_once() -> None:
    terms = [terms.lower() for terms, _ in rows()]

    assert terms == sorted(set(terms))


def test_meanings_in_the_glossary_are_sentences() -> None:
    assert [meaning for _, meaning in rows() if not re.fullmatch(r"[A-Z].*\.", meaning)] == []
