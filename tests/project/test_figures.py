"""Figures that only fall: see `python -m tests.project.figures`."""

import re

from tests.project.figures import CORE, MOST_PARAMETERS, lines_with_any, parameters, texts

MOST_LINES_WITH_ANY = 250


def test_a_type_that_can_be_said_is_not_any() -> None:
    assert sum(map(lines_with_any, texts(CORE))) <= MOST_LINES_WITH_ANY


def test_no_function_has_more_than_eight_parameters() -> None:
    crowded = filter(may_have_many_parameters, texts(CORE))

    assert max(count for text in crowded for count in parameters(text)) <= MOST_PARAMETERS


def may_have_many_parameters(text: str) -> bool:
    """Return False if no head of a function has so many commas: parsing takes seconds."""
    begins = (match.end() for match in re.finditer(r"def \w+\(", text))
    heads = (text[begin : text.find(":\n", begin)] for begin in begins)
    return any(head.count(",") >= MOST_PARAMETERS for head in heads)
