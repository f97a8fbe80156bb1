"""The plugin `audit`: its settings and its lifetime. The rest is imported once it is enabled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from attrs import frozen

from trio_kafka.config.trio_settings import check_destination
from trio_kafka.plugin import PluginContext, boolean, integer, plugin, string, texts


def _check_topic(name: str) -> None:
    if name:
        check_destination(name)


_DRAIN_S: Final = 5.0


@frozen(kw_only=True)
class AuditSettings:
    """Settings `plugin.audit.<name>`."""

    apis: tuple[str, ...] = texts(
        ("admin",),
        "Names of audited APIs; `admin`: all APIs that change the cluster.",
        not_empty=True,
    )
    sample: int = integer(100, "One in so many Produce and Fetch requests is audited.", low=1)
    topic: str = string(
        "trio-audit",
        "Topic for events; empty: none. Internal topics are rejected.",
        check=_check_topic,
    )
    retention_ms: int = integer(
        7 * 24 * 3600 * 1000, "Retention of the topic, if the plugin creates it.", low=-1
    )
    log: bool = boolean(True, "Also log events, as logger kafka.authorizer.audit.")
    queue: int = integer(10_000, "Most pending events; further ones are dropped.", low=1)


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
