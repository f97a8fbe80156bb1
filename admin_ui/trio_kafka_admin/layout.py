"""The frame of every page, and pages of one sentence.

The navigation stands in rows of links. On a narrow screen it is folded: `summary` of an empty
`details` before it decides by style sheet whether it is shown, so that it is in the page once.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from trio_kafka_admin.account import Viewer, account
from trio_kafka_admin.markup import NOTHING, Html, begin, join, tag, text
from trio_kafka_admin.page import Page, Place

_VIEWPORT: Final = "width=device-width, initial-scale=1"
_GROUPS: Final = ((40, "Traffic"), (50, "Inside"), (100, "Broker"))
_LAST_GROUP: Final = "More"
_NOBODY: Final = Viewer()
STYLES: Final = ("app.css", "cards.css", "landing.css")
SCRIPTS: Final = ("idiomorph.js", "app.js")


def head(
    page: Page,
    pages: Iterable[Page],
    place: Place,
    *,
    query: str,
    refresh_ms: int,
    run: str,
    controls: Html,
    broker: str = "",
    viewer: Viewer = _NOBODY,
) -> Html:
    """Return the HTML above the content. refresh_ms: refresh interval of that content.

    run: id of this run of the broker, by which an open page notices a restart; empty: unknown.
    broker: name of the broker, shown beside the title. viewer: shown with a logout.
    """
    data = place.address(f"api/{page.name}") + (f"?{query}" if query else "")
    return join(
        [
            _top(f"{page.title} - {broker}" if broker else page.title, place),
            tag("a", text("skip to the content"), href="#content", class_="skip"),
            tag(
                "header",
                _brand(broker, place),
                *_navigation(page, pages, place),
                _tools(data),
                account(viewer),
            ),
            begin("main", id="content", tabindex=-1),
            tag("h1", text(page.title)),
            tag("p", text(page.about), class_="about"),
            controls,
            begin("div", id="live", data_refresh_ms=refresh_ms, data_run=run or None),
        ]
    )


def foot() -> Html:
    """Return the HTML below the content."""
    return Html("</div></main></body></html>")


def sentence(title: str, words: str, place: Place) -> Html:
    """Return a page that states a problem."""
    way = tag("p", place.link("to the overview", "overview"))
    body = tag("main", tag("h1", text(title)), tag("p", text(words)), way, id="content")
    return join([_top(title, place), body, Html("</body></html>")])


def group_of(page: Page) -> str:
    """Return the heading under which a page stands in the navigation, by its order."""
    return next((name for below, name in _GROUPS if page.order < below), _LAST_GROUP)


def _brand(broker: str, place: Place) -> Html:
    return tag("a", text(broker or "trio-kafka"), href=place.address(""), class_="brand")


def _navigation(page: Page, pages: Iterable[Page], place: Place) -> Sequence[Html]:
    groups = []
    ordered = sorted(pages, key=lambda listed: (listed.order, listed.name))
    for name, members in groupby(ordered, group_of):
        links = [
            tag(
                "li",
                tag(
                    "a",
                    text(listed.title),
                    href=place.address(listed.name),
                    aria_current="page" if listed is page else None,
                ),
            )
            for listed in members
        ]
        groups.append(tag("ul", *links, aria_label=name, data_group=name))
    fold = tag("details", tag("summary", text("Menu")), class_="menu", id="menu")
    return (fold, tag("nav", *groups, aria_label="pages"))


def _tools(data: str) -> Html:
    """Render the search, the switch of updates, and the status line."""
    search = begin(
        "input",
        type="search",
        id="filter",
        placeholder="filter the rows",
        aria_label="filter the rows",
        title="press / to search, ? for all keys",
        hidden=True,
    )
    tools = [
        search,
        tag("button", text("pause"), id="pause", type="button", hidden=True),
        tag("button", text("?"), id="help", type="button", aria_label="keys", hidden=True),
        tag("a", text("JSON"), href=data),
    ]
    return join([tag("p", *tools, class_="tools"), tag("output", NOTHING, id="said")])


def _top(title: str, place: Place) -> Html:
    within = [
        begin("meta", charset="utf-8"),
        begin("meta", name="viewport", content=_VIEWPORT),
        tag("title", text(f"{title} - trio-kafka")),
        begin("link", rel="icon", href=place.address("static/icon.svg")),
        *(begin("link", rel="stylesheet", href=place.address(f"static/{name}")) for name in STYLES),
        *(tag("script", src=place.address(f"static/{name}"), defer=True) for name in SCRIPTS),
    ]
    return join([Html('<!doctype html><html lang="en">'), tag("head", *within), Html("<body>")])
