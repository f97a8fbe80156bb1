"""The app: routes, refusals, guards; it never holds the loop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.broker.test_garbage import garbage
from tests.trio_kafka_admin.kit import admin_ui, read_html
from trio_kafka.plugin import ErrorCode, KafkaError, PluginContext, plugin
from trio_kafka.protocol.messages.k10002_list_plugins import ListPluginsRequest
from trio_kafka_admin.discovery import all_pages

PAGES = [page.name for page in all_pages()]


async def test_every_page_is_served_as_html_and_as_json(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        for name in PAGES:
            page = await ui.page(f"/admin/{name}")
            assert page.one("h1").text.lower() == name
            assert page.one("main", id="live").content != []
            answer = await ui.ask(f"/admin/api/{name}")
            assert answer.headers["content-type"] == "application/json"
            assert isinstance(answer.json(), dict)


async def test_the_root_shows_the_first_page(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        for target in ("/admin", "/admin/"):
            assert (await ui.page(target)).one("h1").text == "Overview"


async def test_json_api_lists_the_paths_of_all_pages(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        listed = (await ui.json("/admin/api"))["pages"]

        assert [one["path"] for one in listed] == [f"/admin/api/{name}" for name in PAGES]
        for one in listed:
            await ui.json(one["path"])


REFUSED = [
    ("/admin/nothing", 404, "nothing is here"),
    ("/admin/tree/more", 404, "nothing is here"),
    ("/admin/static/none.js", 404, "nothing is here"),
    ("/admin/static/../app.py", 404, "nothing is here"),
    ("/admin/tree?path=nowhere", 404, "broker-1 has no node 'nowhere'"),
    ("/admin/tree?depth=x", 400, "depth=x: want a number from -1 to 1000"),
    ("/admin/queues?limit=0", 400, "limit=0: want a number from 1 to 5000"),
    ("/admin/requests?which=<b>", 400, "which='<b>': want one of in-flight, latest, slowest"),
    ("/admin/requests?api=Nope", 400, "api='Nope': no served API has that name or key"),
    ("/admin/tree?path=%ff", 400, "the query cannot be decoded"),
]


async def test_invalid_requests_get_an_error_as_html_page_and_as_json(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        for target, status, words in REFUSED:
            page = await ui.page(target, status)
            assert words in page.all("p")[0].text
            said = await ui.json(target.replace("/admin/", "/admin/api/", 1), status)
            assert said["error_code"] == status
            assert words in said["message"]


async def test_admin_ui_refuses_methods_other_than_get_and_head(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            for target in ("/admin", "/admin/plugins", "/admin/api/tree", "/admin/static/app.js"):
                answer = await ui.ask(target, method)
                assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


async def test_head_response_is_the_get_response_without_its_body(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        for target in ("/admin/tree", "/admin/api/tree", "/admin/static/app.js", "/admin/nothing"):
            get, head = await ui.ask(target), await ui.ask(target, "HEAD")
            assert (head.status, head.headers) == (get.status, get.headers)
            assert head.body == b"" != get.body


async def test_responses_forbid_framing_caching_and_foreign_scripts(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        for target in ("/admin", "/admin/api/tree", "/admin/nothing", "/admin/static/app.js"):
            headers = (await ui.ask(target)).headers
            policy = headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; script-src 'self';")
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            kept = "no-cache" if "static" in target else "no-store"
            assert headers["cache-control"] == kept


async def test_static_file_with_a_known_etag_is_answered_with_status_304(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        first = await ui.ask("/admin/static/app.css")
        etag = first.headers["etag"]
        again = await ui.ask("/admin/static/app.css", **{"if-none-match": f'W/"x", {etag}'})
        other = await ui.ask("/admin/static/app.css", **{"if-none-match": '"other"'})

    assert (first.status, first.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
    assert (other.status, other.body) == (200, first.body)


async def test_admin_ui_is_served_at_the_configured_path(autojump_clock: MockClock) -> None:
    async with admin_ui(path="/ops/ui") as ui:
        page = await ui.page("/ops/ui/tree")

        assert page.one("nav").all("a")[0].attributes["href"] == "/ops/ui/overview"
        assert (await ui.ask("/ops/ui/static/app.js")).status == 200


async def test_requests_above_max_requests_get_status_503_with_retry_after(
    autojump_clock: MockClock,
) -> None:
    held = trio.Event()

    @plugin("slow", order=900)
    @asynccontextmanager
    async def slow(context: PluginContext[None]) -> AsyncIterator[None]:
        """Hold every request for the plugins."""

        async def wait(request: Any, context: Any, forward: Any) -> Any:
            await held.wait()
            return await forward(request)

        context.around(ListPluginsRequest, wait)
        yield

    async with admin_ui(slow, max_requests="2") as ui:
        answers = []

        async def ask() -> None:
            answers.append(await ui.ask("/admin/api/plugins"))

        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(ask)
            await wait_all_tasks_blocked()
            refused = await ui.ask("/admin/api/tree")
            on_a_page = await ui.ask("/admin/tree")
            held.set()

        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["message"] == "too many requests at once"
        assert on_a_page.status == 503
        assert [one.status for one in answers] == [200, 200]
        tree = (await ui.json("/admin/api/tree"))["rows"]
        [node] = [one for one in tree if one["name"] == "admin-requests"]
        assert node["figures"] == {"depth": 1, "bound": 2, "high_water": 2, "items": 2}


async def test_request_refused_by_a_plugin_gets_status_403_with_the_reason(
    autojump_clock: MockClock,
) -> None:
    @plugin("strict", order=900)
    @asynccontextmanager
    async def strict(context: PluginContext[None]) -> AsyncIterator[None]:
        """Lets nobody see the plugins."""

        def refuse(request: object, context: object) -> None:
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "not for you")

        context.before(ListPluginsRequest, refuse)
        yield

    async with admin_ui(strict) as ui:
        answer = await ui.ask("/admin/api/plugins")

        assert answer.status == 403
        assert "not for you" in answer.json()["message"]
        assert (await ui.page("/admin/plugins", 403)).one("h1").text == "403"


async def test_large_page_is_sent_in_chunks_while_other_tasks_run(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await ui.json("/admin/api/tree")  # what is asked for is in the tree from then on
        many = ui.served.broker.node.add("many", "part")
        for number in range(1500):
            many.add(f"node-{number}", "part", lambda: {"figure": 1.5, "text": "some words"})
        turns = 0
        done = False

        async def others() -> None:
            nonlocal turns
            while not done:
                turns += 1
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(others)
            answer = await ui.ask("/admin/tree?limit=5000")
            before = turns
            as_json = await ui.ask("/admin/api/tree?limit=5000")
            done = True
        rows = as_json.json()["rows"]

    assert len(read_html(answer.body.decode()).all("small")) == len(rows) > 1500
    # A page shows at most 8 rows in a turn, and reads at most 32.
    assert before > len(rows) / 8 + len(rows) / 32
    assert turns - before > len(rows) / 32
    assert max(map(len, answer.chunks)) < 32 << 10


async def test_pages_create_no_reference_cycles(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        targets = [f"/admin/{kind}{name}" for name in PAGES for kind in ("", "api/")]
        targets += ["/admin/static/app.js", "/admin/nothing", "/admin/api/tree?path=nowhere"]
        for target in targets:  # what is imported and compiled stays
            await ui.ask(target)
        await trio.sleep(2)
        with garbage() as found:
            for target in targets:
                await ui.ask(target)

        assert not found
