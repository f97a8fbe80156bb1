"""A whole broker in a test: started at the begin of a block, stopped in order at its end.

It runs on any World: `simulated_world()` for virtual time and faults, `RealWorld()` for real
sockets on a port that the system chooses. It has every installed handler and its own data
directories. A second broker on the same world's disk is a restart.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import trio

from trio_kafka.attributes import define
from trio_kafka.broker import Broker, RunningBroker
from trio_kafka.config.load import load, options
from trio_kafka.model import TopicId
from trio_kafka.peers.session import Request
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.requests.registry import Registry
from trio_kafka.testing.scripted_client import ScriptedClient, connected, newest
from trio_kafka.world.world import World

A = TypeVar("A")
DATA: Final = "/data"
_LOOK_S: Final = 0.02


@define(eq=False, kw_only=True)
class ServedBroker:
    """Running broker and a connection to its first listener.

    Responses on one connection come in order: use `connect` for concurrent requests.
    """

    broker: RunningBroker
    client: ScriptedClient

    async def ask(self, request: Request[A], version: int | None = None) -> A:
        """Send a request and return the response. version: None: the newest stable one."""
        return await self.client.ask(request, newest(type(request)) if version is None else version)

    @asynccontextmanager
    async def connect(self, listener: str | None = None) -> AsyncIterator[ScriptedClient]:
        """Open another connection, to the listener of that name."""
        broker = self.broker
        address = broker.endpoint if listener is None else broker.endpoints[listener]
        async with connected(broker.world, address) as client:
            yield client

    async def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> TopicId:
        """Create a topic and return its id once it has leaders. Raises AssertionError
        if rejected.
        """
        topic_configs = [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
        topic = CreatableTopic(name, partitions, 1, configs=topic_configs)
        (topic_row,) = (await self.ask(CreateTopicsRequest([topic]))).topics
        if topic_row.error_code:
            raise AssertionError(f"{name}: error {topic_row.error_code}, {topic_row.error_message}")
        return TopicId(topic_row.topic_id)

    async def serve_groups(self, *group_ids: str) -> None:
        """Wait, as clients do, until these groups have a coordinator that has loaded them."""
        for group_id in group_ids:
            request = FindCoordinatorRequest(coordinator_keys=[group_id])
            while (await self.ask(request)).coordinators[0].error_code:  # noqa: ASYNC110 - clients poll too
                await trio.sleep(_LOOK_S)
            offsets = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id, topics=[])])
            while (await self.ask(offsets)).groups[0].error_code:  # noqa: ASYNC110 - clients poll too
                await trio.sleep(_LOOK_S)

    def closed(self, reason: str) -> int:
        """Return how many connections to the first listener were closed for a reason."""
        listener = next(iter(self.broker.endpoints))
        return self.broker.counters.value("connections_closed", listener=listener, reason=reason)


@asynccontextmanager
async def served_broker(
    world: World,
    settings: Mapping[str, str] | None = None,
    *,
    apis: Registry | None = None,
    plugins: Sequence[Plugin] | None = (),
) -> AsyncIterator[ServedBroker]:
    """Run a broker with a connection to it.

    settings: texts by Kafka's names. Defaults are one listener on a free loopback port and the data
    directory `DATA`; set `log.dirs` in the real world.
    apis: None: the installed ones. plugins: only these; None: the installed ones.
    Raises ConfigError, and whatever `Broker` raises.
    """
    texts = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": DATA, **(settings or {})}
    config = load(options(f"{name}={text}" for name, text in texts.items())).config
    async with (
        Broker(config, world, format_if_empty=True, apis=apis, plugins=plugins) as broker,
        connected(world, broker.endpoint) as client,
    ):
        yield ServedBroker(broker=broker, client=client)
