"""The link to the rows after those of a list that is read in pieces."""

from collections.abc import Iterator
from typing import Final

from trio_kafka_admin.markup import Html, tag
from trio_kafka_admin.page import Data, Place

LAST: Final = 10_000_000
"""Largest number of rows to skip, the parameter `first`."""


def further_rows(data: Data, page: str, place: Place, words: str = "more") -> Iterator[Html]:
    """Yield a link to the rows that follow, if there are any.

    data: of a page whose rows have its name; `total` and `first` say which of how many they are,
    `of` what all of them were searched for.
    words: what the link says after their number.
    """
    following = data["first"] + len(data[page])
    left_out = data["total"] - following
    if left_out > 0:
        query: dict[str, str | int] = {"of": data["of"]} if data["of"] else {}
        link = place.link(f"{left_out} {words}", page, first=following, **query)
        yield tag("p", link, class_="more")
