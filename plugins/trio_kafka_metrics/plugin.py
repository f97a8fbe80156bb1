"""The plugin `metrics`: `/metrics` on the HTTP plane, and reports to metrics reporters."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Final

import trio
from attrs import frozen

from trio_kafka.config.setting import boolean, int32
from trio_kafka.install_hint import install_command
from trio_kafka.plugin import MetricsReporter, PluginContext, plugin
from trio_kafka_metrics.collection import Collection
from trio_kafka_metrics.requests import RequestMetrics
from trio_kafka_metrics.scrape import Scrapes

PATH: Final = "/metrics"
_CLIENT: Final = "prometheus_client"


@frozen(kw_only=True)
class MetricsSettings:
    """Settings of the plugin `metrics`."""

    max_series: int = int32(
        100_000,
        "Most series of topics, partitions, APIs, clients and counters; further ones are omitted.",
        low=0,
    )
    requests: bool = boolean(False, "Collect Kafka's RequestMetrics: time of each hop, by API.")
    report_interval_ms: int = int32(30_000, "Interval of reports to metrics reporters.", low=100)


@plugin("metrics", settings=MetricsSettings)
@asynccontextmanager
async def metrics(context: PluginContext[MetricsSettings]) -> AsyncIterator[None]:
    """Serve `/metrics` for Prometheus, and report to the metrics reporters of plugins."""
    settings, world = context.settings, context.world
    requests = RequestMetrics(context.parts) if settings.requests else None
    collection = Collection(
        context.parts,
        requests,
        most=settings.max_series,
        elapsed=world.clock.elapsed,
        logger=context.logger,
    )
    if find_spec(_CLIENT) is None:
        context.logger.info("/metrics is off", enable=install_command("trio-kafka[http]"))
    else:
        scrapes = Scrapes(collection, world.run_in_thread, process=not world.simulated)
        context.mount(PATH, scrapes.app)
    interval_s = settings.report_interval_ms / 1000
    context.nursery.start_soon(report, context.reporters, collection, interval_s, name="reports")
    if requests is not None:
        requests.begin()
    try:
        yield
    finally:
        if requests is not None:
            requests.end()


async def report(
    reporters: Iterable[MetricsReporter], collection: Collection, interval_s: float
) -> None:
    """Report to all reporters until cancelled. Without reporters nothing is collected."""
    while True:
        await trio.sleep(interval_s)
        current = list(reporters)
        if not current:
            continue
        families = await collection.look()
        for reporter in current:
            try:
                reporter.report(families)
            except Exception:  # noqa: BLE001, S112 - the guard has reported it to its plugin
                continue
            await trio.lowlevel.checkpoint()
