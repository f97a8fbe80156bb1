"""Attacks on the HTTP plane of a whole broker by names, addresses and heads.

Elsewhere: smuggled requests (`trio_kafka_http/test_request_framing.py`), slow clients and floods of
connections (`test_plane.py`), foreign pages, fixed sessions and open redirects
(`test_login_app.py`), DNS rebinding (`test_dispatcher.py`).
"""

from typing import Final

import pytest
import trio
from trio.testing import MockClock

from tests.apis.transactional_ids import initialize
from tests.broker.sasl import upsertion
from tests.trio_kafka_admin.group_kit import heartbeat
from tests.trio_kafka_admin.kit import Element, Ui, read_html
from tests.trio_kafka_http.kit import http_client
from tests.trio_kafka_http.test_plugin import address_of, served
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k48_describe_client_quotas import DescribeClientQuotasRequest
from trio_kafka.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from trio_kafka.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
)
from trio_kafka.security.principal import Principal
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_admin.discovery import page_names
from trio_kafka_admin.plugin import admin

HOSTILE: Final = "x\"'><script>alert(1)</script><img src=x onerror=alert(1)> javascript:alert(1)"
USER: Final = HOSTILE.replace(" ", "+")


async def fill_with_hostile_names(broker: ServedBroker) -> None:
    """Groups, clients, transactional ids, users and quotas with markup for names."""
    await broker.create_topic("t")
    broker.client.client_id = HOSTILE
    await broker.ask(ApiVersionsRequest("soft", "1.0"), 3)
    await broker.serve_groups(HOSTILE)
    await heartbeat(broker, HOSTILE, "m", "t")
    await initialize(broker, HOSTILE)
    users = AlterUserScramCredentialsRequest(upsertions=[upsertion(USER, "secret")])
    await broker.ask(users)
    entity = [EntityData("user", HOSTILE), EntityData("client-id", HOSTILE)]
    limit = [OpData("producer_byte_rate", 1000.0, False)]
    await broker.ask(AlterClientQuotasRequest([EntryData(entity, limit)]))
    await broker.ask(DescribeClientQuotasRequest([], False))


def dangers_of(page: Element) -> list[Element]:
    """Elements that would run something, or lead somewhere else."""
    dangers = []
    for element in elements_of(page):
        texts = {name: text or "" for name, text in element.attributes.items()}
        links = [texts.get(name, "") for name in ("href", "src", "action", "formaction")]
        runs = element.name == "script" and not texts.get("src", "").startswith("/admin/static/")
        calls = any(name.startswith("on") or name == "style" for name in texts)
        leads_away = any(link and not link.startswith(("/", "#")) for link in links)
        if runs or calls or leads_away or element.name in ("img", "iframe", "object", "base"):
            dangers.append(element)
    return dangers


def elements_of(element: Element) -> list[Element]:
    below = [child for child in element.content if not isinstance(child, str)]
    return [element, *(deeper for child in below for deeper in elements_of(child))]


async def test_no_page_runs_or_follows_what_clients_call_themselves(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world(), plugins=(admin,)) as broker:
        await fill_with_hostile_names(broker)
        await trio.sleep(3)
        ui = Ui(broker, Principal("User", HOSTILE))
        named = set[str]()
        for name in page_names():
            for query in ("", "?of=%22%3E%3Cscript%3E", "?name=%22%3E%3Cscript%3E"):
                answer = await ui.ask(f"/admin/{name}{query}")
                text = answer.body.decode()
                assert "<script>alert" not in text
                assert "<img" not in text
                page = read_html(text)
                assert dangers_of(page) == []
                policy = answer.headers["content-security-policy"]
                assert "unsafe" not in policy
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert answer.headers["cross-origin-opener-policy"] == "same-origin"
                if "alert(1)" in page.text:
                    named.add(name)

        # Else the names would not have been there to be escaped.
        assert {"groups", "clients", "transactions", "quotas"} <= named


@pytest.mark.parametrize(
    "target",
    [
        "/%0d%0aset-cookie:%20a=b",
        "/login?next=/%0d%0aset-cookie:%20a=b",
        "/login?next=//evil.example",
        "/hello/%0d%0ax:%20y?z=%0d%0a",
        "/%c3%28%00",
    ],
)
async def test_address_puts_no_header_and_no_markup_into_an_answer(
    autojump_clock: MockClock, target: str
) -> None:
    async with (
        served() as server,
        http_client(server.broker.world, address_of(server.broker)) as client,
    ):
        for headers in ({}, {"accept": "text/html"}, {"x-forwarded-for": "1.2.3.4"}):
            answer = await client.ask("GET", target, headers=headers)
            assert "set-cookie" not in answer.headers
            assert "x" not in answer.headers
            assert "evil" not in answer.headers.get("location", "")
            assert b"//evil" not in answer.body


async def test_login_over_a_socket_gives_a_session_that_a_logout_ends(
    autojump_clock: MockClock,
) -> None:
    async with (
        served() as server,
        http_client(server.broker.world, address_of(server.broker)) as client,
    ):
        users = AlterUserScramCredentialsRequest(upsertions=[upsertion("ann", "secret")])
        await server.ask(users)
        form = {"content-type": "application/x-www-form-urlencoded", "origin": "http://localhost"}

        wrong = await client.ask("POST", "/login", headers=form, body=b"user=ann&password=x")
        body = b"user=ann&password=secret&next=/hello"
        right = await client.ask("POST", "/login", headers=form, body=body)
        cookie = {"cookie": right.headers["set-cookie"].partition(";")[0]}
        changed = await client.ask("POST", "/hello", headers={**form, **cookie})
        await client.ask("POST", "/logout", headers={**form, **cookie})
        after = await client.ask("POST", "/hello", headers={**form, **cookie})

    statuses = [wrong.status, right.status, changed.status, after.status]
    assert statuses == [401, 303, 200, 401]


async def test_slow_and_broken_logins_leave_nothing_behind(autojump_clock: MockClock) -> None:
    async with served() as server:
        address = address_of(server.broker)
        head = b"POST /login HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost\r\n"
        head += b"content-type: application/x-www-form-urlencoded\r\ncontent-length: 100\r\n\r\n"
        async with trio.open_nursery() as nursery:

            async def send_half(number: int) -> None:
                async with http_client(server.broker.world, address) as client:
                    await client.send(head + b"user=ann&password=")
                    if number % 2:
                        client.socket.abort()
                    else:
                        await client.wait_closed()

            for number in range(20):
                nursery.start_soon(send_half, number)
        async with http_client(server.broker.world, address) as client:
            assert (await client.ask("GET", "/hello")).status == 200
        figures = {
            node.name: node.figures()
            for _, node in server.broker.node.walk()
            if node.name in ("http-logins", "http-sessions")
        }

    assert [figures[name]["depth"] for name in sorted(figures)] == [0, 0]
