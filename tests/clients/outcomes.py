"""docs/reference/client-matrix.md: what came of each test of the matrix with each client.

python -m tests.clients.outcomes [options of pytest]      run them, print the table, write the page
"""

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from attrs import Factory, define

from tests.clients.catalogue import CLIENTS

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "reference" / "client-matrix.md"
HEAD: Final = """\
# Results by client

Look up what each client was tested with. A number is how many cases of a test passed: a test of
codecs has five, one of acks three. An empty cell is a client that cannot run the test.
[Clients](clients.md) describes the clients, how many records they write, and what they cannot do.

This page is generated: `python -m tests.clients.outcomes` runs `tests/clients/test_matrix.py`
against a broker process and writes the table.

"""
Cell = tuple[str, str]  # a test and a client


@define
class Outcomes:
    """A plugin of pytest that counts how the tests of each client ended."""

    counts: dict[Cell, Counter[str]] = Factory(dict)
    _cells: dict[str, list[Cell]] = Factory(dict)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if isinstance(item, pytest.Function):
                callspec = getattr(item, "callspec", None)
                name = callspec.params.get("name") if callspec else None
                clients = [name] if name else list(CLIENTS)
                self._cells[item.nodeid] = [(item.originalname, client) for client in clients]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            for cell in self._cells[report.nodeid]:
                self.counts.setdefault(cell, Counter())[report.outcome] += 1


def table(counts: Mapping[Cell, Counter[str]]) -> str:
    """Rows are tests in their order, columns are clients."""
    rows = [["", *(client.title for client in CLIENTS.values())], ["---"] * (len(CLIENTS) + 1)]
    for test in dict.fromkeys(test for test, _ in counts):
        cells = [said(counts.get((test, client), Counter())) for client in CLIENTS]
        rows.append([test.removeprefix("test_").replace("_", " "), *cells])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def said(count: Counter[str]) -> str:
    """One cell: how many passed, and what came of the others."""
    others = [f"{number} {outcome}" for outcome, number in count.items() if outcome != "passed"]
    return ", ".join([str(count["passed"]), *others]) if count else ""


def main(arguments: list[str]) -> int:
    outcomes = Outcomes()
    tests = str(ROOT / "tests" / "clients" / "test_matrix.py")
    status = pytest.main([tests, "-p", "no:randomly", *arguments], plugins=[outcomes])
    print(table(outcomes.counts))
    if not arguments:
        PAGE.write_text(HEAD + table(outcomes.counts))
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
