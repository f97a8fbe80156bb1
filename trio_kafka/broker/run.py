"""One broker as a context manager: it serves while the block runs, and stops in order after it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

from trio_kafka.broker.broker import Broker
from trio_kafka.broker.shutdown import stop_broker
from trio_kafka.broker.startup import Start
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.introspect.tree import Node
from trio_kafka.requests.registry import Registry, installed_apis
from trio_kafka.world.protocols import World

STOP_S: Final = 30.0


@asynccontextmanager
async def running_broker(
    config: BrokerConfig,
    world: World,
    *,
    format_if_empty: bool = False,
    apis: Registry | None = None,
    stop_s: float = STOP_S,
) -> AsyncIterator[Broker]:
    """A broker that has started. Cancelled, it ends at once, and recovers at its next start.

    apis: its handlers; None: those that are installed. stop_s: the deadline of the stop.
    Raises StartError, OSError (an address in use), and what ends a broker: LogDirError,
    InvariantError.
    """
    node = Node(f"broker-{config.node_id}", "broker")
    async with trio.open_nursery() as nursery:
        start = Start(
            world=world,
            config=config,
            apis=installed_apis() if apis is None else apis,
            nursery=nursery,
            format_if_empty=format_if_empty,
            node=node,
        )
        try:
            broker = await start.run()
            yield broker
            await stop_broker(broker, stop_s)
        finally:
            start.abandon()
        nursery.cancel_scope.cancel()
