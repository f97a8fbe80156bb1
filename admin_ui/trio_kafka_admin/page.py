"""The interface of a page: one function reads its data, another one renders them.

The data are JSON-ready and are what the page answers as JSON: its HTML shows nothing else.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from attrs import frozen

from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html, tag, text
from trio_kafka_admin.query import Query

Data = Mapping[str, Any]
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~:/-]*").fullmatch


@frozen
class Place:
    """Path at which the app is mounted; links begin with it."""

    root: str

    def link(self, words: str, page: str, **query: str | int) -> Html:
        """Return a link to a page, with a query."""
        return tag("a", text(words), href=self.address(page, **query))

    def address(self, page: str, **query: str | int) -> str:
        """Return the address of a page."""
        if not query:
            return f"{self.root}/{page}"
        pairs = "&".join(f"{name}={_quoted(str(value))}" for name, value in query.items())
        return f"{self.root}/{page}?{pairs}"


@frozen(kw_only=True)
class Page:
    """Page of the admin UI.

    name: last part of its address. order: position among the pages. about: sentence under its
    heading.
    read: returns the data; raises KafkaError, and HttpError for a bad query. show: renders them in
    pieces of at most 0.1 ms. ask: renders what does not change, such as a form.
    is_listed: the navigation has it; False: other pages link to it.
    is_kept: a viewer can look at the page as it was in the last 15 minutes, see `rewinding`.
    """

    name: str
    title: str
    order: int
    about: str
    read: Callable[[BrokerReader, Query], Awaitable[Data]]
    show: Callable[[Data, Place], Iterator[Html]]
    ask: Callable[[Query, Place], Html] | None = None
    is_listed: bool = True
    is_kept: bool = False


def _quoted(value: str) -> str:
    """Return a value of a query. Addresses, ids and most names need no slow `quote`."""
    if _PLAIN(value):
        return value.replace(":", "%3A").replace("/", "%2F")
    return quote(value, safe="")
