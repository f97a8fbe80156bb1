"""Settings of the broker, as a page."""

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import DASH, admin_ui, table_of
from trio_kafka.config.report.describe import describe_broker

MORE = {"num.io.threads": "3", "ssl.keystore.password": "a secret"}


async def test_page_shows_the_settings_that_are_set_with_their_source(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui(more=MORE) as ui:
        rows = {
            row["setting"]: row for row in table_of(await ui.page("/admin/settings"), "settings")
        }

        threads = rows["num.io.threads"]
        assert threads["value"] == "3"
        assert threads["source"].startswith("file or command line")
        assert "num.io.threads=8: default" in threads["source"]
        assert threads["a change"] == "at once"
        assert threads["what it does"]
        assert rows["log.dirs"]["a change"] == "at the next start"
        assert "num.partitions" not in rows


async def test_all_settings_are_those_of_describe_configs(autojump_clock: MockClock) -> None:
    async with admin_ui(more=MORE) as ui:
        twin = await ui.json("/admin/api/settings?which=all")
        parts = ui.served.broker.parts
        expected = describe_broker(parts.settings.usable(parts.metadata.image))

        assert {(row["name"], row["value"]) for row in twin["settings"]} == {
            (row.name, row.value) for row in expected
        }
        names = [row["name"] for row in twin["settings"]]
        assert names == sorted(names)
        page = table_of(await ui.page("/admin/settings?which=all"), "settings")
        assert [row["setting"] for row in page] == names
        assert {row["value"] for row in page} > {DASH, "3"}


async def test_dynamic_settings_are_those_that_change_at_once(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        rows = (await ui.json("/admin/api/settings?which=dynamic"))["settings"]

        assert {row["dynamic"] for row in rows} == {True}
        assert "num.io.threads" in {row["name"] for row in rows}


async def test_secret_is_nowhere_in_the_page_or_its_json(autojump_clock: MockClock) -> None:
    async with admin_ui(more=MORE) as ui:
        for address in ("/admin/settings", "/admin/api/settings", "/admin/settings?of=password"):
            answer = await ui.ask(address)
            assert b"a secret" not in answer.body
        rows = {
            row["setting"]: row for row in table_of(await ui.page("/admin/settings"), "settings")
        }
        assert rows["ssl.keystore.password"]["value"] == "(hidden)"


async def test_search_looks_at_names_and_descriptions(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        rows = (await ui.json("/admin/api/settings?which=all&of=RETENTION.MS"))["settings"]
        texts = (await ui.json("/admin/api/settings?which=all&of=certificate"))["settings"]
        page = await ui.page("/admin/settings?which=set&of=no%20such%20setting")

        assert "log.retention.ms" in {row["name"] for row in rows}
        assert all("retention.ms" in (row["name"] + row["doc"]).lower() for row in rows)
        assert texts
        assert page.find("div", id="live").text == "No setting matches."


async def test_settings_above_the_limit_are_counted(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        twin = await ui.json("/admin/api/settings?which=all&limit=3")
        page = await ui.page("/admin/settings?which=all&limit=3")

        assert (len(twin["settings"]), len(table_of(page, "settings"))) == (3, 3)
        words = page.find("div", id="live").all("p")[-1].text
        assert words.startswith(f"{twin['total'] - 3} more")
