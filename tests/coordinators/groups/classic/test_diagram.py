"""The page has the diagram that is drawn from the table, and every place that looks at a state."""

import re

from tests.coordinators.groups.classic.diagram import BEGIN, END, PAGE, diagram, page
from tests.project.tree import ROOT
from trio_kafka.coordinators.groups.classic.states import (
    TRANSITIONS,
    ClassicState,
    GroupEvent,
)

PLACES = re.compile(r"`(?:\w+/)?(\w+)")  # `session`, `syncing._sync`, `consumer/downgrade.py`


def test_diagram_in_the_page_equals_the_one_drawn_from_the_table() -> None:
    text = PAGE.read_text()

    assert text.count(BEGIN) == text.count(END) == 1
    assert text == page()


def test_diagram_has_a_line_for_every_transition() -> None:
    lines = diagram().splitlines()

    shown = {event for _, event in TRANSITIONS if event is not GroupEvent.END}
    assert sum("▶" in line for line in lines) == 1 + sum(
        event is not GroupEvent.END for _, event in TRANSITIONS
    )
    assert all(any(event.value in line for line in lines) for event in shown)


def test_page_names_every_module_that_looks_at_a_state() -> None:
    _, _, section = PAGE.read_text().partition("## A new state")
    modules = {
        path.stem
        for path in (ROOT / "trio_kafka").rglob("*.py")
        if "ClassicState." in path.read_text() and path.stem != "states"
    }

    by_text = {
        path.stem
        for folder in ("trio_kafka/coordinators/groups/facts", "admin_ui/trio_kafka_admin")
        for path in (ROOT / folder).rglob("*.py")
        if f'"{ClassicState.STABLE.value}"' in path.read_text()
    }

    assert modules
    assert by_text
    assert (modules | by_text) - set(PLACES.findall(section)) == set()
