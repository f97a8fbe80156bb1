"""The frame of every page, and pages of one sentence."""

from collections.abc import Iterable

from trio_kafka_admin.markup import Html, begin, join, tag, text
from trio_kafka_admin.page import Page, Place

_VIEWPORT = "width=device-width, initial-scale=1"


def head(
    page: Page,
    pages: Iterable[Page],
    place: Place,
    *,
    query: str,
    refresh_ms: int,
    run: str,
    controls: Html,
) -> Html:
    """Return the HTML above the content. refresh_ms: refresh interval of that content.

    run: id of this run of the broker, by which an open page notices a restart; empty: unknown.
    """
    links = [
        tag(
            "a",
            text(listed.title),
            href=place.address(listed.name),
            aria_current="page" if listed is page else None,
        )
        for listed in pages
    ]
    data = place.address(f"api/{page.name}") + (f"?{query}" if query else "")
    tools = [
        begin("input", type="search", id="filter", placeholder="filter the rows", hidden=True),
        tag("button", text("pause"), id="pause", type="button", hidden=True),
        tag("a", text("JSON"), href=data),
        tag("output", id="said", role="status"),
    ]
    return join(
        [
            _top(page.title, place),
            tag("header", tag("strong", text("trio-kafka")), tag("nav", *links), tag("p", *tools)),
            tag("h1", text(page.title)),
            tag("p", text(page.about), class_="about"),
            controls,
            begin("main", id="live", data_refresh_ms=refresh_ms, data_run=run or None),
        ]
    )


def foot() -> Html:
    """Return the HTML below the content."""
    return Html("</main></body></html>")


def sentence(title: str, words: str, place: Place) -> Html:
    """Return a page that states a problem."""
    way = tag("p", place.link("to the overview", "overview"))
    body = [tag("h1", text(title)), tag("p", text(words)), way]
    return join([_top(title, place), *body, Html("</body></html>")])


def _top(title: str, place: Place) -> Html:
    within = [
        begin("meta", charset="utf-8"),
        begin("meta", name="viewport", content=_VIEWPORT),
        tag("title", text(f"{title} - trio-kafka")),
        begin("link", rel="icon", href=place.address("static/icon.svg")),
        begin("link", rel="stylesheet", href=place.address("static/app.css")),
        begin("link", rel="stylesheet", href=place.address("static/landing.css")),
        tag("script", src=place.address("static/app.js"), defer=True),
    ]
    return join([Html('<!doctype html><html lang="en">'), tag("head", *within), Html("<body>")])
