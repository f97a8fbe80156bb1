"""The page of a copied trouble."""

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import admin_ui

QUERY = "kind=slow-request&api=Produce&topic=%3Cscript%3E&ms=1500"


async def test_the_page_shows_the_source_of_its_json_twin(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        page = await ui.page(f"/admin/copy?{QUERY}")
        twin = await ui.json(f"/admin/api/copy?{QUERY}")

    assert page.find("pre").text == " ".join(twin["source"].split())
    assert 'kafka.fault(api="Produce", topic="<script>", delay_s=1.5)' in twin["source"]
    assert page.all("script") != []
    assert page.find("pre").all("script") == []


async def test_an_unknown_trouble_is_refused(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        answer = await ui.json("/admin/api/copy?kind=none", 400)
    assert "want one of slow-request" in answer["message"]
