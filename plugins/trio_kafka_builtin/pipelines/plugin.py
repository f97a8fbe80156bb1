"""The plugin `pipelines`: its lifetime. The rest is imported once it is enabled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from trio_kafka.plugin import PluginContext, plugin
from trio_kafka_builtin.pipelines.settings import PipelineSettings

if TYPE_CHECKING:
    from trio_kafka_builtin.pipelines.supervisor import Supervisor

_KILL_S: Final = 1.0  # time reserved for killing children at the end of the drain time


# Generations never overlap, because two would run each pipeline twice. The plugin stops after most
# others, so that its children can use their remaining time, while the HTTP plane still accepts
# their last posts.
@plugin("pipelines", settings=PipelineSettings, order=20, enabled=False, beside=False)
@asynccontextmanager
async def pipelines(context: PluginContext[PipelineSettings]) -> AsyncIterator[None]:
    """Run Spark pipelines and other programs as children that end with the broker."""
    from trio_kafka_builtin.pipelines.app import ProgressApp  # noqa: PLC0415 - off by default
    from trio_kafka_builtin.pipelines.supervisor import Supervisor  # noqa: PLC0415

    supervisor = Supervisor(context)
    await supervisor.load()
    app = ProgressApp(supervisor, context.counter("pipeline_posts_unauthorized"))
    context.mount(context.settings.path, app, checks_tokens=True)
    context.add_admin_page("pipelines", partial(_load_page, supervisor))
    with context.node.child("posts", "channel", app.in_flight.figures):
        await context.nursery.start(supervisor.run, name="pipelines")
        context.nursery.start_soon(supervisor.stop_early, name="stop early")
        yield
        with trio.move_on_at(trio.current_effective_deadline() - _KILL_S):
            await supervisor.drain()


def _load_page(supervisor: "Supervisor") -> object:
    from trio_kafka_builtin.pipelines.page import make_page  # noqa: PLC0415 - when it is looked at

    return make_page(supervisor)
