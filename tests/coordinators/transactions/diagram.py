"""Diagram of the states of a transaction in docs/design/transactions.md.

python -m tests.coordinators.transactions.diagram            write it
python -m tests.coordinators.transactions.diagram --check    end with status 1 if it is stale
"""

import sys
from typing import Final

from tests.project.tree import ROOT
from trio_kafka.coordinators.transactions.states import (
    TRANSITIONS,
    TransactionEvent,
    TransactionState,
)

PAGE: Final = ROOT / "docs" / "design" / "transactions.md"
BEGIN: Final = (
    "<!-- Written by `python -m tests.coordinators.transactions.diagram`, from the table. -->\n"
)
END: Final = "<!-- End of the diagram. -->\n"
LONGEST: Final = max(len(event.value) for event in TransactionEvent)


def arrow(event: TransactionEvent, after: TransactionState, *, is_last: bool) -> str:
    line = "─" * (LONGEST - len(event.value) + 1)
    return f"  {'└' if is_last else '├'}─ {event.value} {line}▶ {after.value}"


def diagram() -> str:
    """Draw the table: the ways out of each state, by event. Equal states are drawn once."""
    names: dict[tuple[tuple[TransactionEvent, TransactionState], ...], list[str]] = {}
    for state in TransactionState:
        ways = tuple(
            (event, after) for (before, event), after in TRANSITIONS.items() if before is state
        )
        if ways:
            names.setdefault(ways, []).append(state.value)
    lines: list[str] = []
    for ways, states in names.items():
        lines.append(", ".join(states))
        lines += [arrow(event, after, is_last=(event, after) == ways[-1]) for event, after in ways]
    return "".join(f"    {line}\n" for line in lines)


def page() -> str:
    """Return the page with the diagram as it must be."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{diagram()}\n{END}{after}"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text() != page())
    PAGE.write_text(page())
