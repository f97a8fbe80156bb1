"""The plugin `audit`: its lifetime. The rest is imported once it is enabled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from trio_kafka.plugin import (
    PluginContext,
    plugin,
)
from trio_kafka_builtin.audit.settings import AuditSettings

_DRAIN_S: Final = 5.0


# Outermost, so that requests that other plugins reject are audited, too.
@plugin("audit", settings=AuditSettings, order=0, enabled=False)
@asynccontextmanager
async def audit(context: PluginContext[AuditSettings]) -> AsyncIterator[None]:
    """Record changes, their principals and their outcome in a topic and the log."""
    from trio_kafka_builtin.audit.event_writer import EventWriter, sinks_of  # noqa: PLC0415 - off by default
    from trio_kafka_builtin.audit.interceptor import AuditInterceptor, apis_of  # noqa: PLC0415

    settings = context.settings
    writer = EventWriter(
        sinks_of(context),
        context.node,
        bound=settings.queue,
        dropped=context.counter("audit_dropped"),
        failed=context.counter("audit_failed"),
        logger=context.logger,
    )
    interceptor = AuditInterceptor(context, writer)
    for request in apis_of(settings.apis, context.parts.apis):
        context.around(request, interceptor.around)
    await context.start("trail", writer.run)
    yield
    with context.part_of_the_rest(at_most_s=_DRAIN_S):
        await writer.drain()
