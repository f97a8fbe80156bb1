"""The plugin `admin`: its settings and its lifetime. Pages are imported on the first request."""

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
    """Settings `plugin.admin.<name>`."""

    path: str = string("/admin", "Path at which the admin UI is mounted on the HTTP plane.")
    refresh_ms: int = int32(2000, "Refresh interval of an open page; 0 disables refresh.", low=0)
    max_rows: int = int32(
        500, "Most rows of a page, unless its address sets ?limit=.", low=1, high=5000
    )
    max_requests: int = int32(
        16,
        "Most requests in flight; further ones are answered 503 with Retry-After.",
        low=2,
        high=1000,
    )


# Before plugins without an order, so that its own pages take their names first.
@plugin("admin", settings=AdminSettings, order=90)
@asynccontextmanager
async def admin(context: PluginContext[AdminSettings]) -> AsyncIterator[None]:
    """Serve pages and JSON about the tree, queues, requests, connections, jobs and plugins."""
    context.mount(context.settings.path, _when_asked(context))
    for name in page_names():
        context.add_admin_page(name, partial(load_page, name))
    yield


def _when_asked(context: PluginContext[AdminSettings]) -> App:
    """Return the app; the first request imports it in a thread, like hypercorn."""
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
    # Not by import_module: a reload imports this package under another name.
    from trio_kafka_admin.app import prepare  # noqa: PLC0415 - see `_when_asked`

    return prepare()
