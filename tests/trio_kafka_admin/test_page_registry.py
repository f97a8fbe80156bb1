"""Pages that other plugins contribute."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_admin.kit import admin_ui
from trio_kafka.plugin import ErrorCode, KafkaError, PluginContext, plugin
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_http.asgi_json import HttpError

Give = Callable[[PluginContext[Any]], None]


async def read(reader: BrokerReader, query: Query) -> Data:
    await reader.plugins()
    return {"said": query.text("say", "nothing"), "limit": query.limit(reader.max_rows)}


def show(data: Data, place: Place) -> Iterator[Html]:
    yield tag("p", text(data["said"]), id="said")
    yield tag("p", place.link("to the tree", "tree"))


def page(**parts: Any) -> Page:
    fields = {"title": "Words", "order": 25, "about": "Says what it is asked to.", **parts}
    return Page(**{"name": "words", "read": read, "show": show, **fields})


def giver(give: Give, name: str = "giver", **named: Any) -> Plugin:
    @plugin(name, **named)
    @asynccontextmanager
    async def run(context: PluginContext[Any]) -> AsyncIterator[None]:
        give(context)
        yield

    return run


def words(**parts: Any) -> Plugin:
    return giver(lambda context: context.add_admin_page("words", lambda: page(**parts)))


async def test_contributed_page_is_served_and_linked_like_other_pages(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui(words()) as ui:
        shown = await ui.page("/admin/words?say=<b>")
        assert shown.find("p", id="said").text == "<b>"
        assert shown.find("h1").text == "Words"
        assert await ui.json("/admin/api/words?limit=7") == {"said": "nothing", "limit": 7}
        listed = [row["path"] for row in (await ui.json("/admin/api"))["pages"]]
        place = listed.index("/admin/api/words")
        assert listed[place - 1 : place + 2] == [
            "/admin/api/groups",
            "/admin/api/words",
            "/admin/api/clients",
        ]
        links = [link.text for link in (await ui.page("/admin/queues")).find("nav").all("a")]
        place = links.index("Words")
        assert links[place - 1 : place + 2] == ["Groups", "Words", "Clients"]
        assert (await ui.page("/admin")).find("h1").text == "Overview"
        assert (await ui.json("/admin/api/words?limit=x", 400))["message"].startswith("limit=x")


async def test_contributed_page_is_removed_when_its_plugin_fails(autojump_clock: MockClock) -> None:
    contexts = list[PluginContext[Any]]()
    async with admin_ui(giver(contexts.append)) as ui:
        await ui.page("/admin/words", 404)
        contexts[0].add_admin_page("words", page)
        await ui.page("/admin/words")
        ui.served.broker.plugins.find("giver").current.fail("enough")
        await trio.sleep(1)
        await ui.page("/admin/words", 404)
        assert "words" not in str(await ui.json("/admin/api"))


@pytest.mark.parametrize("order", [50, 200])
async def test_page_name_taken_by_another_plugin_is_refused_with_the_name_of_that_plugin(
    autojump_clock: MockClock, order: int
) -> None:
    taker = giver(lambda context: context.add_admin_page("tree", page), order=order)
    async with admin_ui(taker) as ui:
        plugins = ui.served.broker.plugins
        later, first = ("giver", "admin") if order > 90 else ("admin", "giver")
        assert plugins.find(later).state is State.FAILED
        assert f"page tree already belongs to plugin {first}" in plugins.find(later).error


async def fail(reader: BrokerReader, query: Query) -> Data:
    raise ZeroDivisionError


async def answer(reader: BrokerReader, query: Query) -> Data:
    raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, "no such word")


async def refuse(reader: BrokerReader, query: Query) -> Data:
    raise HttpError(400, "not so")


def fail_late(data: Data, place: Place) -> Iterator[Html]:
    yield Html("<p>")
    raise ZeroDivisionError


def fail_asking(query: Query, place: Place) -> Html:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("parts", "status", "failures"),
    [
        ({"read": fail}, 500, 1),
        ({"show": fail_late}, 500, 1),
        ({"ask": fail_asking}, 500, 1),
        ({"read": answer}, 404, 0),
        ({"read": refuse}, 400, 0),
    ],
)
async def test_failing_page_counts_as_failure_of_its_own_plugin_only(
    autojump_clock: MockClock, parts: dict[str, Any], status: int, failures: int
) -> None:
    async with admin_ui(words(**parts)) as ui:
        await ui.page("/admin/words", status)
        await ui.page("/admin/tree")
        plugins = ui.served.broker.plugins
        assert plugins.find("giver").current.failures == failures
        assert plugins.find("admin").current.failures == 0


@pytest.mark.parametrize(
    ("load", "why"),
    [
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: None, "want a Page with name: str"),
        (lambda: page(name="other"), "want 'words'"),
        (lambda: page(order="1"), "want a Page with order: int"),
    ],
)
async def test_page_that_cannot_be_loaded_gets_status_500_and_others_are_served(
    autojump_clock: MockClock, load: Callable[[], Any], why: str
) -> None:
    loads = []

    def counted() -> Any:
        loads.append(1)
        return load()

    async with admin_ui(giver(lambda context: context.add_admin_page("words", counted))) as ui:
        for _ in range(2):
            error = await ui.json("/admin/api/words", 500)
            assert "page words of plugin giver: it cannot be loaded" in error["message"]
            assert why in error["message"]
        assert (await ui.page("/admin/tree")).all("a", aria_current="page")[0].text == "Tree"
        assert loads == [1]
        assert ui.served.broker.plugins.find("giver").current.failures == 1


async def test_contributed_page_is_loaded_once_at_the_first_request(
    autojump_clock: MockClock,
) -> None:
    loads = []

    def load() -> Page:
        loads.append(1)
        return page()

    async with admin_ui(giver(lambda context: context.add_admin_page("words", load))) as ui:
        assert loads == []
        for _ in range(3):
            await ui.page("/admin/queues")
        assert loads == [1]
