from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Any

from tests.clients import test_matrix
from tests.clients.catalogue import CLIENTS
from tests.clients.outcomes import HEAD, PAGE, said, table


def cases() -> Iterator[tuple[tuple[str, str], int]]:
    """Each test of the matrix and each client that takes part, with how many cases it has."""
    for name, test in vars(test_matrix).items():
        if not name.startswith("test_"):
            continue
        marks: dict[str, Any] = dict(mark.args for mark in getattr(test, "pytestmark", ()))
        clients = marks.pop("name", list(CLIENTS))
        for client in (getattr(parameter, "values", [parameter])[0] for parameter in clients):
            yield (name, client), prod(len(values) for values in marks.values())


def test_the_client_matrix_page_lists_every_test_as_passed() -> None:
    passed = {cell: Counter(passed=number) for cell, number in cases()}

    assert PAGE.read_text() == HEAD + table(passed), "run python -m tests.clients.outcomes"


def test_failed_and_skipped_cases_are_shown_in_a_cell() -> None:
    assert said(Counter(passed=4, failed=1)) == "4, 1 failed"
    assert said(Counter(skipped=3)) == "0, 3 skipped"
    assert said(Counter()) == ""
