"""A link to a node that answers as a test says, on machines of a simulated world."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from tests.peers.kit import PORT
from trio_kafka.clients.links.link import BrokerLink
from trio_kafka.clients.metrics.network import NetworkMetrics
from trio_kafka.clients.metrics.registry import MetricRegistry
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.model import Endpoint
from trio_kafka.world.world import World


def link_to(world: World, host: str = "there", *, limit: int = 3, **settings: Any) -> BrokerLink:
    """A link that nothing runs. settings: fields of `ClientSettings`."""
    return BrokerLink(
        node=2,
        world=world,
        settings=ClientSettings(bootstrap_servers=(f"{host}:{PORT}",), **settings),
        address=lambda: Endpoint(host, PORT),
        metrics=metrics(),
        limit=limit,
        changed=lambda: None,
    )


def metrics() -> NetworkMetrics:
    """Counters that nothing reads."""
    return NetworkMetrics(MetricRegistry(0.0), "producer")


@asynccontextmanager
async def running_link(link: BrokerLink) -> AsyncIterator[BrokerLink]:
    """Run the task of a link during the block."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(link.run)
        yield link
        nursery.cancel_scope.cancel()
