"""A broker with the metrics plugin, in virtual time, and what `/metrics` says of it."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from trio_kafka.broker import RunningBroker
from trio_kafka.model import Endpoint
from trio_kafka.plugin import Family, Plugin
from trio_kafka.testing.asgi import Answer, ask
from trio_kafka.testing.harness import PluginHarness
from trio_kafka_metrics.metric_values import MetricValues
from trio_kafka_metrics.plugin import metrics

BEANS = json.loads((Path(__file__).parent / "data" / "kafka-4.4-beans.json").read_text())
OPEN = "application/openmetrics-text; version=1.0.0"


@asynccontextmanager
async def harness(
    settings: Mapping[str, str] | None = None, *more: Plugin
) -> AsyncIterator[PluginHarness]:
    full = {
        name if "plugin" in name else f"plugin.metrics.{name}": text
        for name, text in (settings or {}).items()
    }
    async with PluginHarness((metrics, *more), broker=True, settings=full) as plugin_harness:
        yield plugin_harness


async def scrape(harness: PluginHarness, accept: str = "", **request: str) -> Answer:
    app = harness.mounts.find("/metrics").app
    method, target = request.get("method", "GET"), request.get("target", "/")
    return await ask(app, method, target, headers={"accept": accept} if accept else None)


async def values(harness: PluginHarness) -> dict[str, float]:
    """Samples by name and labels, as `name{label="value"}`, labels by name."""
    return parsed((await scrape(harness)).body)


def parsed(body: bytes) -> dict[str, float]:
    return {
        written(sample.name, sample.labels.items()): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def read(source, parts, most: int = 10_000) -> dict[str, float]:
    """Values of one source, with its steps counted under `steps`."""
    collected = MetricValues(most)
    steps = sum(1 for _ in source(parts, collected))
    return {"steps": steps, "dropped": collected.dropped, **shown(collected.families.values())}


def shown(families: Iterable[Family]) -> dict[str, float]:
    return {
        written(name, labels): value
        for family in families
        for name, labels, value in family.samples()
    }


def written(name: str, labels: Iterable[tuple[str, str]]) -> str:
    inside = ",".join(f"{key}={text}" for key, text in sorted(labels))
    return f"{name}{{{inside}}}" if inside else name


def address_of(broker: RunningBroker) -> Endpoint:
    """Where HTTP is served."""
    names = (node.name for _, node in broker.node.walk() if node.kind == "listener")
    (name,) = (name for name in names if name.startswith("http://"))
    host, _, port = name.removeprefix("http://").rpartition(":")
    return Endpoint(host, int(port))
