"""Small marks: badges, bars and cards. None says a thing by its colour alone: a badge has a shape
and a word, a bar has a text.
"""

from typing import Final, Literal

from trio_kafka_admin.markup import Html, begin, join, tag, text

Tone = Literal["bad", "warn", "info", "good", "idle"]
SHAPES: Final[dict[Tone, str]] = {
    "bad": "\N{BLACK UP-POINTING TRIANGLE}",
    "warn": "\N{BLACK DIAMOND}",
    "info": "\N{BLACK CIRCLE}",
    "good": "\N{CHECK MARK}",
    "idle": "\N{WHITE CIRCLE}",
}
_BADGES: Final = {  # up to their words
    tone: join(
        [
            begin("span", class_=f"badge {tone}"),
            tag("i", text(shape), aria_hidden="true"),
        ]
    )
    for tone, shape in SHAPES.items()
}
_WIDE: Final = 100  # units of a bar


def badge(tone: Tone, words: object) -> Html:
    """Return a word with the shape and the colour of its tone."""
    return Html(f"{_BADGES[tone]}{text(words)}</span>")


def bar(share: float, label: str, tone: Tone = "info") -> Html:
    """Return a bar. share: filled part, 0 to 1; values outside are cut. label: its text."""
    width = round(_WIDE * min(max(share, 0.0), 1.0), 1)
    rects = [
        tag("rect", class_="bar-all", width=_WIDE, height=8, rx=2),
        tag("rect", class_=f"bar-part {tone}", width=width, height=8, rx=2),
    ]
    drawing = tag(
        "svg",
        *rects,
        class_="bar",
        viewBox=f"0 0 {_WIDE} 8",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    return tag("span", drawing, tag("span", text(label)), class_="measure")


def card(title: str, *content: Html, tone: Tone | None = None) -> Html:
    """Return a card with a heading. tone: colour of its upper edge."""
    return tag("section", tag("h2", text(title)), *content, class_=f"card {tone or ''}".strip())


def fold(summary: Html, *content: Html, name: str, is_open: bool = False) -> Html:
    """Return content that opens by a line. name: identity; an update keeps it open by that."""
    head = begin("details", id=name, open=is_open)
    return join([head, tag("summary", summary), *content, Html("</details>")])
