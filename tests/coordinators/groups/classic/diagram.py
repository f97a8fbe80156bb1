"""Diagram of the states of a classic group in docs/design/classic-groups.md.

python -m tests.coordinators.groups.classic.diagram            write it
python -m tests.coordinators.groups.classic.diagram --check    end with status 1 if it is stale
"""

import sys
from typing import Final

from tests.project.tree import ROOT
from trio_kafka.coordinators.groups.classic.states import TRANSITIONS, ClassicState, GroupEvent

PAGE: Final = ROOT / "docs" / "design" / "classic-groups.md"
BEGIN: Final = (
    "<!-- Written by `python -m tests.coordinators.groups.classic.diagram`, from the table. -->\n"
)
END: Final = "<!-- End of the diagram. -->\n"


def diagram() -> str:
    """Draw the table: the ways out of each state, with their events."""
    longest = max(len(event.value) for event in GroupEvent)
    lines: list[str] = []
    for state in ClassicState:
        ways = [
            (event, after)
            for (before, event), after in TRANSITIONS.items()
            if before is state and event is not GroupEvent.END
        ]
        if not ways:
            continue
        lines.append(state.value)
        for number, (event, after) in enumerate(ways, 1):
            corner = "└" if number == len(ways) else "├"
            lines.append(
                f"  {corner}─ {event.value} {'─' * (longest - len(event.value))}─▶ {after.value}"
            )
    event = GroupEvent.END
    ends = {TRANSITIONS[state, event] for state in ClassicState}
    lines.append("any state")
    for after in ends:
        lines.append(f"  └─ {event.value} {'─' * (longest - len(event.value))}─▶ {after.value}")
    return "".join(f"    {line}\n" for line in lines)


def page() -> str:
    """Return the page with the diagram as it must be."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{diagram()}\n{END}{after}"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text() != page())
    PAGE.write_text(page())
