"""The plugin `admin`: its settings and its life. The pages are imported when somebody asks."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import trio
from attrs import frozen

from trio_kafka.config.setting import int32
from trio_kafka.plugin import PluginContext, plugin, string
from trio_kafka.plugin_host.mounts import App, Receive, Scope, Send
from trio_kafka_admin.discovery import load_page, page_names

if TYPE_CHECKING:
    from trio_kafka_admin.app import AdminApp


@frozen(kw_only=True)
class AdminSettings:
    """`plugin.admin.<name>`."""

    path: str = string("/admin", "Where it is mounted on the HTTP plane.")
    refresh_ms: int = int32(
        2000, "How often a page that is looked at asks again; 0: when it is told to.", low=0
    )
    max_rows: int = int32(
        500, "The most rows of a page, where its address says nothing else.", low=1, high=5000
    )
    max_requests: int = int32(
        16, "Requests in hand at once; others are told to wait.", low=2, high=1000
    )


# Before plugins without an order: its pages have their names first.
@plugin("admin", settings=AdminSettings, order=90)
@asynccontextmanager
async def admin(context: PluginContext[AdminSettings]) -> AsyncIterator[None]:
    """Shows the tree, queues, requests, connections and plugins: pages for people, and JSON."""
    context.mount(context.settings.path, _when_asked(context))
    for name in page_names():
        context.add_admin_page(name, partial(load_page, name))
    yield


def _when_asked(context: PluginContext[AdminSettings]) -> App:
    """The app, which is imported with the first request: in a thread, as hypercorn is."""
    made: list[AdminApp] = []
    making = trio.Lock()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async with making:
            if not made:
                make = await context.world.run_in_thread(_prepare)
                made.append(make(context))
        await made[0](scope, receive, send)

    return app


def _prepare() -> "Callable[[PluginContext[AdminSettings]], AdminApp]":
    # Not by import_module: this package may be imported under another name.
    from trio_kafka_admin.app import prepare  # noqa: PLC0415 - see `_when_asked`

    return prepare()
