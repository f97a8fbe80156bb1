"""Plugins, as a page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import frozen
from trio.testing import MockClock

from tests.trio_kafka_admin.kit import DASH, admin_ui, table_of
from trio_kafka.config.setting import password
from trio_kafka.plugin import PluginContext, plugin


@frozen(kw_only=True)
class Settings:
    """Of `guard`."""

    secret: str | None = password(None, "A word.")


@plugin("guard", settings=Settings)
@asynccontextmanager
async def guard(context: PluginContext[Settings]) -> AsyncIterator[None]:
    """Guards <something>."""
    yield


@plugin("broken")
@asynccontextmanager
async def broken(context: PluginContext[None]) -> AsyncIterator[None]:
    """Fails at its start."""
    raise ValueError("<no> way")
    yield


async def test_plugins_page_shows_each_plugin_with_its_contributions(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui(guard) as ui:
        page = await ui.page("/admin/plugins")
        rows = {row["plugin"]: row for row in table_of(page, "plugins")}

        assert rows["guard"]["what it does"] == "Guards <something>."
        assert (rows["guard"]["state"], rows["guard"]["contributes"]) == ("ready", DASH)
        assert rows["admin"]["contributes"].startswith("mount:/admin page:clients page:")
        link = page.find("a", href="/admin/tree?path=plugins%2Fguard")
        below = await ui.page(link.attributes["href"] or "")
        assert below.find("div", id="tree").all("b")[0].text == "guard"


async def test_plugins_page_shows_the_error_of_a_failed_plugin(autojump_clock: MockClock) -> None:
    async with admin_ui(broken) as ui:
        page = await ui.page("/admin/plugins")
        [row] = [entry for entry in table_of(page, "plugins") if entry["plugin"] == "broken"]

        assert row["state"].startswith("failed: ")
        assert "<no> way" in row["state"]
        assert page.all("span", class_="bad") != []
        result = (await ui.json("/admin/api/overview"))["findings"]
        assert [finding["node"] for finding in result] == ["broker-1/plugins/broken"]
        assert "plugin broken has failed" in result[0]["words"]


async def test_plugins_page_shows_a_disabled_plugin_as_off(autojump_clock: MockClock) -> None:
    async with admin_ui(guard, more={"plugin.guard.enabled": "false"}) as ui:
        rows = table_of(await ui.page("/admin/plugins"), "plugins")

        assert [row["state"] for row in rows if row["plugin"] == "guard"] == ["off"]


async def test_pages_do_not_show_secret_plugin_settings(autojump_clock: MockClock) -> None:
    async with admin_ui(guard, more={"plugin.guard.secret": "open-sesame"}) as ui:
        for target in ("/admin/plugins", "/admin/api/plugins", "/admin/tree", "/admin/api/tree"):
            answer = await ui.ask(target)
            assert b"guard" in answer.body
            assert b"open-sesame" not in answer.body
