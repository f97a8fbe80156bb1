"""Periodic jobs, as a page."""

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import DASH, admin_ui, table_of


async def test_jobs_page_shows_every_job_with_its_runs(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        scheduler = ui.served.broker.parts.scheduler
        await scheduler.run_now("kafka-log-retention")
        page = await ui.page("/admin/jobs")
        rows = {row["job"]: row for row in table_of(page, "jobs")}
        result = (await ui.json("/admin/api/jobs"))["jobs"]

    assert (
        set(rows)
        == {status.name for status in scheduler.statuses}
        == {row["name"] for row in result}
    )
    retention = rows["kafka-log-retention"]
    assert (retention["every s"], retention["runs"], retention["last error"]) == ("300", "1", DASH)
    assert rows["quota-expiry"]["next in s"] == DASH


async def test_jobs_page_shows_the_error_of_a_failed_job(autojump_clock: MockClock) -> None:
    def fail() -> None:
        raise ValueError("<no> way")

    async with admin_ui() as ui:
        scheduler = ui.served.broker.parts.scheduler
        scheduler.every("bad", 100.0, fail)
        await scheduler.run_now("bad")
        page = await ui.page("/admin/jobs")
        [row] = [job for job in table_of(page, "jobs") if job["job"] == "bad"]

        assert row["last error"] == "ValueError: <no> way"
        assert page.all("span", class_="bad") != []
        link = page.find("a", href="/admin/tree?path=scheduler%2Fbad")
        below = await ui.page(link.attributes["href"] or "")
        assert below.find("div", id="tree").all("a")[0].text == "bad"
