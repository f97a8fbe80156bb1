"""Template of a plugin with a page of the admin UI."""

from typing import Final

ABOUT: Final = """It adds the page `/admin/@PAGE@` to the admin UI, which lists the topics with
their partitions, and `/admin/api/@PAGE@` with the same data as JSON."""
SETTINGS: Final = """\
| `plugin.@NAME@.order` | `100` | Start order, as of every plugin. |"""
MODULE: Final = '''\
"""A page of the admin UI: topics with their partitions."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from trio_kafka.plugin import PluginContext, plugin


@plugin("@NAME@")
@asynccontextmanager
async def @MODULE@(context: PluginContext[Any]) -> AsyncIterator[None]:
    """Add a page about topics to the admin UI."""
    context.add_admin_page("@PAGE@", lambda: page(context))
    yield  # ready; everything added is removed when the block ends


def page(context: PluginContext[Any]) -> Any:
    """Return the page; imported in a thread when a browser first asks."""
    from trio_kafka_admin.page import Page
    from trio_kafka_admin.table import figures, table, words

    async def read(asker: Any, query: Any) -> dict[str, Any]:
        """Return data that is ready for JSON; `show` renders exactly these."""
        topics = list(context.parts.metadata.image.topics.values())
        rows = [{"name": topic.name, "partitions": len(topic.partitions)} for topic in topics]
        return {"topics": rows[: query.limit(asker.max_rows)]}

    def show(data: Any, place: Any) -> Iterator[Any]:
        columns = (words("name", "topic"), figures("partitions", "partitions"))
        key, empty = (lambda row: row["name"]), "There are no topics."
        yield from table("topics", columns, data["topics"], key=key, empty=empty)

    about = "Topics with the number of their partitions."
    return Page(name="@PAGE@", title="@CLASS@", order=70, about=about, read=read, show=show)
'''
TESTS: Final = '''\
"""The page of the plugin, asked through the admin UI: no sockets, no files, virtual time."""

from @MODULE@ import @MODULE@
from trio_kafka.testing.asgi import Answer, ask
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.simulation import run_simulated
from trio_kafka.world.simulated import Universe
from trio_kafka_admin.plugin import admin


def response(target: str) -> Answer:
    async def main(universe: Universe) -> Answer:
        world = universe.machine("broker")
        async with PluginHarness([admin, @MODULE@], broker=True, world=world) as harness:
            return await ask(harness.mounts.find("/admin").app, "GET", target)

    return run_simulated(main)


def test_the_page_is_there() -> None:
    answer = response("/@PAGE@")

    assert answer.status == 200
    assert b"There are no topics." in answer.body


def test_its_data_are_json() -> None:
    assert response("/api/@PAGE@").json()["topics"] == []
'''
