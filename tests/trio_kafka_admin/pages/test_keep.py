"""The page of files to keep."""

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import admin_ui


async def test_both_forms_lead_to_a_file(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        page = await ui.page("/admin/keep")
        actions = [form.attributes["action"] or "" for form in page.all("form")]
        answers = [await ui.ask(action) for action in actions]

    assert actions == ["/admin/download/trace", "/admin/download/snapshot"]
    assert [answer.status for answer in answers] == [200, 200]
    assert all("attachment" in answer.headers["content-disposition"] for answer in answers)
