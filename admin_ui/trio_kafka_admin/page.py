"""What a page is: something that reads, and something that shows what was read.

What is read is JSON-ready, and is what the page's JSON twin answers: a page shows nothing else.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from attrs import frozen

from trio_kafka_admin.asker import Asker
from trio_kafka_admin.markup import Html, tag, text
from trio_kafka_admin.query import Query

Data = Mapping[str, Any]


@frozen
class Place:
    """Where the app is mounted: what links begin with."""

    root: str

    def link(self, words: str, page: str, **query: str | int) -> Html:
        """To a page, with what its address asks for."""
        return tag("a", text(words), href=self.address(page, **query))

    def address(self, page: str, **query: str | int) -> str:
        """Of a page."""
        asked = f"?{urlencode(query, quote_via=quote)}" if query else ""
        return f"{self.root}/{page}{asked}"


@frozen(kw_only=True)
class Page:
    """name: the last part of its address. order: among the others. about: a sentence under its
    head.

    read: waits for the broker; raises KafkaError, and HttpError for what the query asks. show: in
    pieces of at most 0.1 ms. ask: what stands above and does not change, such as a form.
    """

    name: str
    title: str
    order: int
    about: str
    read: Callable[[Asker, Query], Awaitable[Data]]
    show: Callable[[Data, Place], Iterator[Html]]
    ask: Callable[[Query, Place], Html] | None = None
