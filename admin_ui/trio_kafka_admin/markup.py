"""HTML built from elements. Only `Html` can become part of a page, and `text` makes it by escaping:
the type checker enforces that.
"""

import re
from collections.abc import Iterable
from html import escape
from typing import Final, NewType

from trio_kafka.protocol.texts import printable

Html = NewType("Html", str)
"""Text that is safe as HTML."""

NOTHING: Final = Html("")
Value = str | float | bool | None
_NUMBER: Final = re.compile(r"(:\d{2,})")  # a port, or a line of source
_PLAIN: Final = re.compile(r"[A-Za-z0-9_ .,:;/@()%+=-]*").fullmatch


def text(value: object) -> Html:
    """Escape a value; it may hold any characters that a client chose."""
    words = str(value)
    # Nearly all texts need no escape, and a large page has 50,000 of them.
    return Html(words) if _PLAIN(words) else Html(escape(printable(words)))


def place_text(value: object) -> Html:
    """Escape a text with ports or lines of source, as in "127.0.0.1:9092". A line of the page may
    end before such a number, and never within it.
    """
    parts = _NUMBER.split(str(value))
    return join(
        Html(f'<wbr><span class="whole">{part}</span>') if number % 2 else text(part)
        for number, part in enumerate(parts)
    )


def join(parts: Iterable[Html]) -> Html:
    """Concatenate pieces of HTML."""
    return Html("".join(parts))


def tag(name: str, /, *content: Html, **attributes: Value) -> Html:
    """Return an element. Attributes: see `begin`."""
    return Html(f"{begin(name, **attributes)}{''.join(content)}</{name}>")


def begin(name: str, /, **attributes: Value) -> Html:
    """Return the start tag of an element, or a void element.

    attributes: None and False omit the attribute, True gives it no value; `class_` is `class`,
    `data_x` is `data-x`.
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        shown = key.rstrip("_").replace("_", "-")
        words.append(shown if value is True else f'{shown}="{text(value)}"')
    return Html(f"<{' '.join(words)}>")
