"""HTML, made of elements. What is no `Html` cannot become a part of a page but by `text`, which
escapes it: the type checker sees to that.
"""

from collections.abc import Iterable
from html import escape
from typing import Final, NewType

from trio_kafka.protocol.texts import printable

Html = NewType("Html", str)
"""Text that a browser may take for HTML."""

NOTHING: Final = Html("")
Value = str | float | bool | None


def text(value: object) -> Html:
    """A value as text, whatever characters a client has put into it."""
    return Html(escape(printable(str(value))))


def join(parts: Iterable[Html]) -> Html:
    """One after the other."""
    return Html("".join(parts))


def tag(name: str, /, *content: Html, **attributes: Value) -> Html:
    """An element. Attributes: see `begin`."""
    return Html(f"{begin(name, **attributes)}{''.join(content)}</{name}>")


def begin(name: str, /, **attributes: Value) -> Html:
    """The begin of an element, or one that has no end.

    attributes: None and False leave one out, True has no value; `class_` is `class`, and `data_x`
    is `data-x`.
    """
    found = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        shown = key.rstrip("_").replace("_", "-")
        found.append(shown if value is True else f'{shown}="{text(value)}"')
    return Html(f"<{' '.join(found)}>")
