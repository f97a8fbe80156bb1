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


def arrow(event: GroupEvent, after: ClassicState, *, is_last: bool) -> str:
    longest = max(len(each.value) for each in GroupEvent)
    line = "─" * (longest - len(event.value) + 1)
    return f"  {'└' if is_last else '├'}─ {event.value} {line}▶ {after.value}"


def diagram() -> str:
    """Draw the table: the ways out of each state, with their events."""
    lines: list[str] = []
    for state in ClassicState:
        ways = [
            (event, after)
            for (before, event), after in TRANSITIONS.items()
            if before is state and event is not GroupEvent.END
        ]
        if ways:
            lines.append(state.value)
            lines += [
                arrow(event, after, is_last=(event, after) == ways[-1]) for event, after in ways
            ]
    ends = {TRANSITIONS[state, GroupEvent.END] for state in ClassicState}
    lines += ["any state", *(arrow(GroupEvent.END, after, is_last=True) for after in ends)]
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
