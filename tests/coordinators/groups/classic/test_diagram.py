"""The diagram of the documentation is drawn from the table of states."""

from tests.coordinators.groups.classic.diagram import BEGIN, END, PAGE, diagram, page
from trio_kafka.coordinators.groups.classic.states import TRANSITIONS, GroupEvent


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
