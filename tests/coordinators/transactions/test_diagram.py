"""The page has the diagram that is drawn from the table."""

from tests.coordinators.transactions.diagram import BEGIN, END, PAGE, diagram, page
from trio_kafka.coordinators.transactions.states import TRANSITIONS


def test_diagram_in_the_page_equals_the_one_drawn_from_the_table() -> None:
    text = PAGE.read_text()

    assert text.count(BEGIN) == text.count(END) == 1
    assert text == page()


def test_diagram_has_every_event_and_every_state_that_is_entered() -> None:
    lines = diagram()

    assert all(event.value in lines for _, event in TRANSITIONS)
    assert all(f"▶ {after.value}\n" in lines for after in TRANSITIONS.values())
