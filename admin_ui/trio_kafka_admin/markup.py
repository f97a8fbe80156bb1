"""HTML built from elements. Only `Html` can become part of a page, and `text` makes it by escaping:
the type checker enforces that.
"""

from collections.abc import Iterable
from html import escape
from typing import Final, NewType

from trio_kafka.protocol.texts import printable

Html = NewType("Html", str)
"""Text that is safe as HTML."""

NOTHING: Final = Html("")
Value = str | float | bool | None


def text(value: object) -> Html:
    """Escape a value; it may hold any characters that a client chose."""
    return Html(escape(printable(str(value))))


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
