"""Shapes of the picture: each state has a form and a word, not only a colour."""

from typing import Any, Final

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.finding import Severity
from trio_kafka_admin.landing.dots import DotState
from trio_kafka_admin.markup import Html, tag, text
from trio_kafka_admin.page import Place
from trio_kafka_admin.subject_links import subject_address

_RING: Final = tag("circle", cx=8, cy=8, r=4.5, class_="line")
_DISC: Final = tag("circle", cx=8, cy=8, r=5.5)
_SQUARE: Final = tag("rect", x=3.5, y=3.5, width=9, height=9, class_="line")
_BLOCK: Final = tag("rect", x=3, y=3, width=10, height=10)
_HOURGLASS: Final = tag("path", d="M3 2.5h10L8 8l5 5.5H3L8 8z")
_DIAMOND: Final = tag("path", d="M8 1.5 14.5 8 8 14.5 1.5 8z")
_TRIANGLE: Final = tag("path", d="M8 1.5 15 14H1z")
_TICK: Final = tag("path", d="M3 8.5 6.5 12 13 4.5", class_="line")
_SHAPES: Final[dict[DotState, Html]] = {
    "idle": _RING,
    "busy": _DISC,
    "free": _SQUARE,
    "taken": _BLOCK,
    "parked": _HOURGLASS,
    "good": _TICK,
    "waits": _HOURGLASS,
    "watch": _DIAMOND,
    "wrong": _TRIANGLE,
}
LEGEND: Final[tuple[tuple[DotState, str], ...]] = (
    ("idle", "connection"),
    ("busy", "with a request"),
    ("free", "free handler"),
    ("taken", "busy handler"),
    ("parked", "waits on purpose"),
    ("watch", "watch"),
    ("wrong", "wrong"),
)


def shape(state: DotState) -> Html:
    """Return the drawing of a state."""
    return tag(
        "svg", _SHAPES[state], class_=f"shape {state}", viewBox="0 0 16 16", aria_hidden="true"
    )


def mark(severity: Severity | str) -> Html:
    """Return the drawing and the word of a severity."""
    state: DotState = severity if severity in ("wrong", "watch", "waits") else "good"
    return tag("span", shape(state), text(f" {severity}"), class_=f"mark {severity}")


def dot(row: dict[str, Any], place: Place) -> Html:
    """Return a dot, which is a link if it has a subject, with its words for all readers."""
    drawing, words = shape(row["state"]), row["words"]
    if row["subject"] is None:
        return tag("span", drawing, class_="dot", title=words, role="img", aria_label=words)
    address = subject_address(Subject(**row["subject"]), place)
    key = row["key"]
    return tag(
        "a", drawing, class_="dot", href=address, title=words, aria_label=words, data_key=key
    )


def legend() -> Html:
    """Return what the shapes mean."""
    entries = [tag("span", shape(state), text(f" {words}")) for state, words in LEGEND]
    return tag("p", *entries, class_="legend")
