"""The control that shows a page as it was."""

from typing import Final

from trio_kafka_admin.markup import NOTHING, Html, begin, join, tag, text
from trio_kafka_admin.page import Place
from trio_kafka_admin.rewinding import EVERY_S

AGO: Final = "ago"
"""Parameter of a page: seconds."""


def slider(page: str, place: Place, *, ago_s: float, oldest_s: float) -> Html:
    """Return the control that chooses how long ago; it is empty while there is no past.

    ago_s: of the shown data; 0: they are of now. An open page updates what is in the element.
    """
    return tag("div", _form(page, place, ago_s, oldest_s), id="rewind")


def _form(page: str, place: Place, ago_s: float, oldest_s: float) -> Html:
    if oldest_s < EVERY_S:
        return NOTHING
    most = int(oldest_s)
    range_ = begin(
        "input",
        type="range",
        id=AGO,
        name=AGO,
        min=0,
        max=most,
        step=int(EVERY_S),
        value=min(round(ago_s), most),
        aria_label="seconds ago",
    )
    words = f"as it was {duration(ago_s)} ago" if ago_s else "now"
    parts = [
        range_,
        tag("button", text("look back"), type="submit"),
        tag("strong", text(words)),
        *([place.link("back to now", page)] if ago_s else ()),
    ]
    spaced = join(join([part, Html(" ")]) for part in parts)
    return tag("form", spaced, action=place.address(page), method="get", class_="rewind")


def duration(seconds: float) -> str:
    """Return a time in words: `2 min 5 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
