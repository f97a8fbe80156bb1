"""Quotas, as a page."""

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import admin_ui, table_of
from trio_kafka.quotas.limits import ANY
from trio_kafka.quotas.quotas import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE


async def test_page_shows_what_a_throttled_client_uses_and_is_allowed(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        quotas = ui.served.broker.parts.quotas.quotas
        quotas.set(("", "<importer>"), {PRODUCER_BYTE_RATE: 100.0})
        quotas.set(("", ANY), {CONSUMER_BYTE_RATE: 5000.0})
        quotas.produce.charge("", "<importer>", 2000.0, quotas.now_ms())
        quotas.produce.charge("", "other", 10.0, quotas.now_ms())
        page, twin = await ui.page("/admin/quotas"), await ui.json("/admin/api/quotas")

        usage = {row["client id"]: row for row in table_of(page, "usage")}
        assert usage["<importer>"]["quota"] == "Produce"
        assert 190 < float(usage["<importer>"]["used"].split()[0]) <= 200
        assert usage["<importer>"]["allowed"] == "100.0 bytes/s"
        assert usage["<importer>"]["share"] in ("199 %", "200 %")
        assert "above its limit for" in usage["<importer>"]["state"]
        assert "no limit" in usage["other"]["state"]
        assert [
            (row["quota"], row["user"], row["client id"]) for row in table_of(page, "limits")
        ] == [
            ("Produce", "any", "<importer>"),
            ("Fetch", "any", "default"),
        ]
        kinds = {row["quota"]: row for row in table_of(page, "kinds")}
        assert (kinds["Produce"]["limits"], kinds["Produce"]["clients counted"]) == ("1", "2")
        assert [fact["client_id"] for fact in twin["usage"]] == ["<importer>", "other"]
        assert 9_000 < twin["usage"][0]["throttle_ms"] <= 10_000


async def test_page_without_quotas_says_so(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        page = await ui.page("/admin/quotas")

        words = [entry.text for entry in page.find("div", id="live").all("p")]
        assert words[-1] == "No client has a limit."
        assert len(table_of(page, "kinds")) == 4


async def test_limits_above_the_most_rows_are_not_shown(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        quotas = ui.served.broker.parts.quotas.quotas
        for number in range(3):
            quotas.set(("", f"client-{number}"), {PRODUCER_BYTE_RATE: 1.0})
        page = await ui.page("/admin/quotas?limit=2")

        assert len(table_of(page, "limits")) == 2
        assert page.find("div", id="live").all("p")[-1].text.startswith("There are more")
