"""The plugin `admin`: its lifetime. Pages are imported on the first request."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import trio

from trio_kafka.introspect.log_tail import LogTail, tail_of_log
from trio_kafka.plugin import PluginContext, plugin
from trio_kafka.plugin_host.mounts import App, Receive, Scope, Send
from trio_kafka_admin.discovery import load_page, page_names
from trio_kafka_admin.settings import AdminSettings

if TYPE_CHECKING:
    from trio_kafka_admin.app import AdminApp


# Before plugins without an order, so that its own pages take their names first.
@plugin("admin", settings=AdminSettings, order=90)
@asynccontextmanager
async def admin(context: PluginContext[AdminSettings]) -> AsyncIterator[None]:
    """Serve pages and JSON about requests, the tree, queues, settings, plugins and the log."""
    with tail_of_log(context.world.clock.wall) as tail:
        context.mount(context.settings.path, _when_asked(context, tail))
        for name in page_names():
            context.add_admin_page(name, partial(load_page, name))
        yield


def _when_asked(context: PluginContext[AdminSettings], tail: LogTail) -> App:
    """Return the app; the first request imports it in a thread, like hypercorn."""
    apps: list[AdminApp] = []
    making = trio.Lock()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async with making:
            if not apps:
                make = await context.world.run_in_thread(_prepare)
                apps.append(make(context, tail))
        await apps[0](scope, receive, send)

    return app


def _prepare() -> "Callable[[PluginContext[AdminSettings], LogTail], AdminApp]":
    # Not by import_module: a reload imports this package under another name.
    from trio_kafka_admin.app import prepare  # noqa: PLC0415 - see `_when_asked`

    return prepare()
