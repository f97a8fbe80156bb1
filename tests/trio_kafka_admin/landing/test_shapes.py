"""Shapes of the picture: a form and a word for each state."""

from typing import get_args

from attrs import asdict

from tests.trio_kafka_admin.landing.kit import PLACE, html
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.landing.dots import Dot, DotState
from trio_kafka_admin.landing.shapes import dot, legend, mark, shape


def test_states_that_may_stand_beside_each_other_differ_by_their_form() -> None:
    def form(state: DotState) -> tuple[str, str | None]:
        [drawing] = html(shape(state)).find("svg").content
        assert not isinstance(drawing, str)
        return drawing.name, drawing.attributes.get("d") or drawing.attributes.get("class")

    connections: tuple[DotState, ...] = ("idle", "busy", "watch", "wrong")
    handlers: tuple[DotState, ...] = ("free", "taken", "wrong")
    parked: tuple[DotState, ...] = ("parked", "watch", "wrong")
    for states in (connections, handlers, parked):
        assert len({form(state) for state in states}) == len(states)
    assert all(form(state) for state in get_args(DotState))


def test_dot_is_a_link_whose_words_every_reader_gets() -> None:
    hostile = "<b>\u202e"
    row = asdict(Dot("wrong", hostile, Subject("group", "<g>"), "k"))

    link = html(dot(row, PLACE)).find("a")

    assert link.attributes["href"] == "/admin/groups?name=%3Cg%3E"
    assert link.attributes["aria-label"] == link.attributes["title"]
    assert "\u202e" not in str(link.attributes["title"])


def test_dot_that_leads_nowhere_is_an_image_with_words() -> None:
    row = asdict(Dot("free", "free", None, "k"))

    image = html(dot(row, PLACE)).find("span", class_="dot")

    assert (image.attributes["role"], image.attributes["aria-label"]) == ("img", "free")


def test_severity_has_a_shape_and_its_word() -> None:
    assert html(mark("watch")).text == "watch"
    assert html(mark("watch")).find("svg").attributes["class"] == "shape watch"
    assert "waits on purpose" in html(legend()).text
