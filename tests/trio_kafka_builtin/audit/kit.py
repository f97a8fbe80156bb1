"""A broker with the plugin, and the events that it has written."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from tests.requests.request_log.test_sinks import values
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_builtin.audit.plugin import audit

TOPIC = "trio-audit"


@asynccontextmanager
async def audited(*others: Plugin, **settings: str) -> AsyncIterator[ServedBroker]:
    """settings: of the plugin, `_` for `.`."""
    full = {f"plugin.audit.{name.replace('_', '.')}": text for name, text in settings.items()}
    full |= {"plugin.audit.enabled": "true"}
    async with served_broker(simulated_world(), full, plugins=(audit, *others)) as served:
        yield served


async def events(served: ServedBroker, topic: str = TOPIC) -> list[dict[str, Any]]:
    """Those in the topic, once nothing is on its way."""
    await written(served)
    if topic not in served.broker.metadata.image.topics:
        return []
    return [json.loads(value) for value in await values(served, topic, 0)]


async def written(served: ServedBroker) -> None:
    """Until the queue is empty and its task has nothing in hand."""
    while figures(served)["depth"]:
        await trio.sleep(0.01)
    await trio.sleep(1)


def figures(served: ServedBroker) -> dict[str, Any]:
    (node,) = [node for _, node in served.broker.node.walk() if node.name == "audit-events"]
    return dict(node.figures())
