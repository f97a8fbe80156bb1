"""The app: routes, refusals, guards; it never holds the loop."""

import gzip
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.apis.authorizers import deny_all
from tests.broker.test_garbage import garbage
from tests.trio_kafka_admin.kit import Ui, admin_ui, read_html, table_of
from trio_kafka.plugin import PluginContext, plugin
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.security.authorizer import ALLOW_ALL
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.discovery import all_pages
from trio_kafka_admin.markup import Html, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.tree_snapshots import FRESH_S

TITLES = {page.name: page.title for page in all_pages()}
PAGES = list(TITLES)
LISTED = [page.name for page in all_pages() if page.is_listed]


async def test_every_page_is_served_as_html_and_as_json(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        for name in PAGES:
            page = await ui.page(f"/admin/{name}")
            assert page.find("h1").text == TITLES[name]
            assert page.find("div", id="live").content != []
            answer = await ui.ask(f"/admin/api/{name}")
            assert answer.headers["content-type"] == "application/json"
            assert isinstance(answer.json(), dict)


async def test_the_root_shows_the_first_page(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        for target in ("/admin", "/admin/"):
            assert (await ui.page(target)).find("h1").text == "Overview"


async def test_json_api_lists_the_paths_of_all_pages(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        listed = (await ui.json("/admin/api"))["pages"]

        assert [row["path"] for row in listed] == [f"/admin/api/{name}" for name in LISTED]
        for page in listed:
            await ui.json(page["path"])


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

        assert page.find("nav").all("a")[0].attributes["href"] == "/ops/ui/overview"
        assert (await ui.ask("/ops/ui/static/app.js")).status == 200


def page_that(read: Callable[[BrokerReader, Query], Awaitable[Data]]) -> Plugin:
    """A plugin with a page `words` of that reader."""

    def show(data: Data, place: Place) -> Iterator[Html]:
        yield tag("p", text(data["said"]), id="said")

    @plugin("giver", order=900)
    @asynccontextmanager
    async def giver(context: PluginContext[None]) -> AsyncIterator[None]:
        """Adds a page."""
        page = Page(name="words", title="Words", order=25, about=".", read=read, show=show)
        context.add_admin_page("words", lambda: page)
        yield

    return giver


async def test_pages_above_max_requests_get_status_503_with_retry_after(
    autojump_clock: MockClock,
) -> None:
    held = trio.Event()

    async def wait(reader: BrokerReader, query: Query) -> Data:
        await held.wait()
        return {"said": query.text("say")}

    async with admin_ui(page_that(wait), max_requests="2") as ui:
        answers = []

        async def ask(word: str) -> None:
            answers.append(await ui.ask(f"/admin/api/words?say={word}"))

        async with trio.open_nursery() as nursery:
            for word in "aabb":  # viewers of one page take one place
                nursery.start_soon(ask, word)
            await wait_all_tasks_blocked()
            refused = await ui.ask("/admin/api/tree")
            on_a_page = await ui.ask("/admin/tree")
            static = await ui.ask("/admin/static/app.js")
            held.set()

        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["message"] == "too many requests at once"
        assert (on_a_page.status, static.status) == (503, 200)
        assert [answer.status for answer in answers] == [200] * 4
        tree = (await ui.json("/admin/api/tree?own=1"))["rows"]
        [node] = [row for row in tree if row["name"] == "admin-requests"]
        assert node["figures"] == {"depth": 1, "bound": 2, "high_water": 2, "items": 2}


@asynccontextmanager
async def busy_handlers(ui: Ui, clients: int) -> AsyncIterator[None]:
    """So many clients whose requests never end, or never begin."""
    async with trio.open_nursery() as nursery:

        async def hang() -> None:
            async with ui.served.connect() as client:
                await client.ask(MetadataRequest(), 12)

        for _ in range(clients):
            nursery.start_soon(hang)
        await trio.sleep(2 * FRESH_S)  # the requests are on their way, and readings are old
        yield
        nursery.cancel_scope.cancel()


def holding(held: trio.Event) -> Plugin:
    """A plugin that holds every request, in the handler that serves it, until the event."""

    @plugin("stuck", order=900)
    @asynccontextmanager
    async def stuck(context: PluginContext[None]) -> AsyncIterator[None]:
        """Hold every request."""

        async def wait(request: Any, context: Any, forward: Any) -> Any:
            await held.wait()
            return await forward(request)

        context.around(None, wait)
        yield

    return stuck


async def test_every_page_answers_while_all_handlers_are_stuck_and_the_channel_is_full(
    autojump_clock: MockClock,
) -> None:
    held = trio.Event()
    async with admin_ui(holding(held), more={"queued.max.requests": "2"}) as ui:
        for name in PAGES:  # imports
            await ui.page(f"/admin/{name}")
        await trio.sleep(FRESH_S)  # else they show what they have read
        async with busy_handlers(ui, clients=12):
            begun = trio.current_time()
            with trio.fail_after(1.0):
                pages = {name: await ui.page(f"/admin/{name}") for name in PAGES}
                twins = {name: await ui.json(f"/admin/api/{name}") for name in PAGES}
            took_s = trio.current_time() - begun
            held.set()

    queues = {
        queue["path"].rpartition("/")[2]: queue
        for queue in twins["queues"]["queues"]
        if queue["path"].startswith("plane data/")
    }
    assert (queues["num.io.threads"]["taken"], queues["num.io.threads"]["bound"]) == (8, 8)
    assert queues["requests"]["fill"] == 1.0
    assert len(twins["requests"]["requests"]) == 12
    assert len(table_of(pages["requests"], "requests-in-flight")) == 12
    [finding] = twins["overview"]["findings"]
    assert finding["words"].startswith("plugin stuck holds 8 requests")
    assert any("is full" in below["words"] for below in finding["consequences"])
    assert took_s == 0.0


async def test_numbers_on_a_page_are_those_of_its_json_twin_and_of_the_broker(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, ui.served.connect():
        broker = ui.served.broker
        page, twin = await ui.page("/admin/queues"), await ui.json("/admin/api/queues")
        tables = [*table_of(page, "queues"), *table_of(page, "idle-queues")]
        shown = {row["what waits"]: row["now"] for row in tables}
        assert shown == {queue["path"]: str(queue["waiting"]) for queue in twin["queues"]}

        page, twin = await ui.page("/admin/connections"), await ui.json("/admin/api/connections")
        nodes = [node for _, node in broker.node.walk() if node.kind == "connection"]
        requests = [str(node.figures()["requests"]) for node in nodes]
        assert [row["requests"] for row in table_of(page, "connections")] == requests
        assert [str(connection["requests"]) for connection in twin["connections"]] == requests
        assert twin["total"] == len(nodes) == 2

        page, twin = await ui.page("/admin/plugins"), await ui.json("/admin/api/plugins")
        names = [status.name for status in broker.parts.plugins.statuses()]
        assert [row["plugin"] for row in table_of(page, "plugins")] == names
        assert [row["name"] for row in twin["plugins"]] == names


async def test_fifty_viewers_cause_one_rendering_a_tick(autojump_clock: MockClock) -> None:
    reads = []

    async def read(reader: BrokerReader, query: Query) -> Data:
        reads.append(trio.current_time())
        await trio.sleep(0.01)
        return {"said": len(reads)}

    async with admin_ui(page_that(read)) as ui:

        async def view(number: int) -> None:
            await trio.sleep(number * 0.04)  # viewers do not ask at the same moment
            for _ in range(5):
                answer = await ui.ask("/admin/words", **{"accept-encoding": "gzip"})
                assert answer.status == 200
                await trio.sleep(2.0)

        async with trio.open_nursery() as nursery:
            for number in range(50):
                nursery.start_soon(view, number)

    assert len(reads) <= 11  # 250 answers in 10 s
    assert all(after - before >= FRESH_S for before, after in pairwise(reads))


async def test_page_and_twin_are_sent_with_gzip_to_clients_that_accept_it(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        for target in ("/admin/tree", "/admin/api/tree"):
            plain = await ui.ask(target)
            packed = await ui.ask(target, **{"accept-encoding": "gzip, br"})
            assert packed.headers["content-encoding"] == "gzip"
            assert gzip.decompress(packed.body) == plain.body
            assert len(packed.body) < len(plain.body) / 3


async def test_viewer_without_the_permission_any_more_gets_status_403_and_no_shared_page(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        parts = ui.served.broker.parts
        for page in ("overview", "tree", "queues", "requests", "plugins"):
            parts.authorizer = ALLOW_ALL
            await ui.page(f"/admin/{page}")
            parts.authorizer = deny_all()
            refused = await ui.page(f"/admin/{page}", status=403)
            assert "has no permission" in refused.all("p")[0].text
        parts.authorizer = ALLOW_ALL


async def test_page_names_the_run_of_the_broker(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        parts = ui.served.broker.parts
        run = parts.metadata.image.brokers[parts.node_id].incarnation_id.hex()

        assert (await ui.page("/admin")).find("div", id="live").attributes["data-run"] == run


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
        with garbage() as result:
            for target in targets:
                await ui.ask(target)

        assert not result
