"""A snapshot of all pages, as one file."""

import re

import trio
from trio.testing import MockClock

from tests.apis.classic import join, join_request
from tests.apis.test_k49_alter_client_quotas import entry
from tests.trio_kafka_admin.kit import admin_ui, read_html
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k49_alter_client_quotas import AlterClientQuotasRequest
from trio_kafka_admin.discovery import all_pages

TOPIC, GROUP, CLIENT = "ledger.entries", "settlement", "importer-7"
HOSTILE = "<script>alert(1)</script>"


async def test_a_snapshot_has_every_page_and_needs_nothing_else(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await ui.served.create_topic(TOPIC)
        answer = await ui.ask("/admin/download/snapshot")
    html = answer.body.decode()
    page = read_html(html)

    assert answer.headers["content-disposition"].endswith('filename="trio-kafka-snapshot.html"')
    ids = [section.attributes.get("id") or "" for section in page.all("section")]
    sections = [name for name in ids if name.startswith("page-")]
    assert set(sections) >= {f"page-{entry.name}" for entry in all_pages() if entry.is_listed}
    targets = {link.attributes["href"] for link in page.all("a")}
    assert targets <= {"#", *(f"#{section}" for section in sections)}
    assert page.all("script") == []
    assert page.all("link") == []
    assert not re.search(r"\ssrc=|url\(", html)
    assert TOPIC in html


async def test_an_anonymous_snapshot_names_no_topic_group_client_or_machine(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, ui.served.connect() as client:
        client.client_id = CLIENT
        await ui.served.create_topic(TOPIC)
        await ui.served.serve_groups(GROUP)
        await client.ask(join_request(9, group=GROUP), 9)
        await client.ask(MetadataRequest(topics=None), 12)
        member_ids = [
            member.member_id
            for machine in ui.served.broker.parts.groups.machines
            for group in machine.by_id.values()
            for member in group.members()
        ]
        named = (await ui.ask("/admin/download/snapshot")).body.decode()
        anonymous = (await ui.ask("/admin/download/snapshot?anonymous=1")).body.decode()

    for name in (TOPIC, GROUP, CLIENT, *member_ids):
        assert name not in anonymous, name
    for name in (TOPIC, GROUP, CLIENT):
        assert name in named, name
    assert re.search(r"\btopic-1\b", anonymous)
    assert re.search(r"\bgroup-1\b", anonymous)


async def test_anonymous_snapshot_has_no_reason_software_or_quota_of_a_client(
    autojump_clock: MockClock,
) -> None:
    texts = ("customer Ada has asked for it", "ada-soft", "ada-the-user")
    async with admin_ui() as ui, ui.served.connect() as client:
        await ui.served.serve_groups("g")
        await client.ask(ApiVersionsRequest("ada-soft", "1.0"), 3)
        await join(client, 9, group="g", reason=texts[0])
        quota = entry({"user": "ada-the-user"}, producer_byte_rate=20_000.0)
        await ui.served.ask(AlterClientQuotasRequest([quota]))
        for _ in range(2):  # the first one samples
            named = (await ui.ask("/admin/download/snapshot")).body.decode()
            await trio.sleep(5)
        anonymous = (await ui.ask("/admin/download/snapshot?anonymous=1")).body.decode()

    for text in texts:
        assert text in named, text
        at = anonymous.find(text)
        assert at < 0, anonymous[max(at - 300, 0) : at + 200]


async def test_a_hostile_name_stays_text(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui, ui.served.connect() as client:
        client.client_id = HOSTILE
        await client.ask(MetadataRequest(topics=None), 12)
        for query in ("", "?anonymous=1"):
            page = read_html((await ui.ask(f"/admin/download/snapshot{query}")).body.decode())
            assert page.all("script") == []


async def test_a_choice_that_does_not_exist_is_refused(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        assert (await ui.ask("/admin/download/snapshot?anonymous=yes")).status == 400
        assert (await ui.ask("/admin/download/nothing")).status == 404
