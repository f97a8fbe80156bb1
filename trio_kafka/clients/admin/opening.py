"""Admin client on Trio.

async with open_admin({"bootstrap.servers": "localhost:9092"}) as admin:
    results = await admin.create_topics([NewTopic("orders", partitions=3)])
    results.all()  # raises the first error

Each call waits until its deadline at most: `default.api.timeout.ms`, or that of `within`.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar, cast

import attrs
import trio

from trio_kafka.attributes import define
from trio_kafka.clients.admin.calls.call import AnyCall, AnyResults, Plan
from trio_kafka.clients.admin.calls.execution import Exchange, execution_of
from trio_kafka.clients.admin.operations import AdminOperations
from trio_kafka.clients.client import Client, metadata_of, open_client
from trio_kafka.clients.errors import ClientError, TimedOutError
from trio_kafka.clients.settings.admin import AdminSettings
from trio_kafka.clients.settings.load import admin_settings
from trio_kafka.introspect.tree import Node
from trio_kafka.peers.session import Request
from trio_kafka.telemetry.metric import MetricName
from trio_kafka.world.real import RealWorld
from trio_kafka.world.world import World

T = TypeVar("T")


@define(eq=False, kw_only=True)
class Admin(AdminOperations):
    """Admin client on Trio; several tasks may use it. timeout_s: of each call."""

    client: Client
    settings: AdminSettings
    timeout_s: float

    def within(self, timeout_s: float) -> "Admin":
        """Return this client with another time for each call."""
        return attrs.evolve(self, timeout_s=timeout_s)

    def metrics(self) -> dict[MetricName, float]:
        """Return the metrics of the client, by Kafka's names."""
        return self.client.metrics()

    async def run(self, plan: Plan[T]) -> T:
        """Run the calls of a plan and return its value. Raises what the plan raises.

        A cancelled call may have been carried out.
        """
        await trio.lowlevel.checkpoint()
        deadline = trio.current_time() + self.timeout_s
        results: AnyResults | None = None
        while True:
            try:
                call = plan.send(results)
            except StopIteration as end:
                return cast("T", end.value)
            results = await self._execute(call, deadline)

    async def _execute(self, call: AnyCall, deadline: float) -> AnyResults:
        settings = self.settings
        execution = execution_of(call, settings.retry_backoff, settings.retries)
        while not execution.is_done and trio.current_time() < deadline:
            attempt_s = min(settings.request_timeout_s, deadline - trio.current_time())
            exchanges = execution.exchanges(max(int(attempt_s * 1000), 1))
            async with trio.open_nursery() as nursery:
                for exchange in exchanges:
                    nursery.start_soon(self._carry, exchange, attempt_s, name="admin-request")
            if not execution.is_done:
                pause_s = execution.pause_s(self.client.world.random.random())
                await trio.sleep_until(min(trio.current_time() + pause_s, deadline))
        execution.expire(self.timeout_s)
        return execution.results()

    async def _carry(self, exchange: Exchange, timeout_s: float) -> None:
        """Send a request, and give its response or error back.

        The deadline is not a cancellation: it would lose whether the request was sent.
        """
        started = trio.current_time()
        try:
            node = await self._node(exchange, timeout_s)
            link = self.client.links[node]
            remaining_s = max(timeout_s - (trio.current_time() - started), 0.0)
            request = cast("Request[object]", exchange.request)
            response = await link.ask(request, timeout_s=remaining_s, at_most=exchange.at_most)
        except ClientError as error:
            if error.code is None:
                self.client.metadata.request_refresh()
            exchange.failed(error)
        else:
            exchange.answered(response, link.place.broker or "")

    async def _node(self, exchange: Exchange, timeout_s: float) -> int:
        """Return the node to ask. Raises TimedOutError if no broker can be reached."""
        metadata = self.client.metadata
        if exchange.node is not None:
            if exchange.address is not None:
                metadata.take_broker(exchange.node, exchange.address.host, exchange.address.port)
            return exchange.node
        with trio.move_on_after(timeout_s):
            return await metadata.wait_broker()
        failure = metadata.last_failure
        reason = "" if failure is None else f"; the last failure: {failure}"
        raise TimedOutError(f"no broker within {timeout_s:g} s{reason}")


@asynccontextmanager
async def open_admin(
    config: Mapping[str, object], *, world: World | None = None, tree: Node | None = None
) -> AsyncIterator[Admin]:
    """Open an admin client for the duration of a block.

    config: settings by Kafka's names, as texts or values. world: None: this machine.
    tree: node below which the client is shown; None: it is not.
    Raises ConfigError; warns with SettingWarning of settings without effect.
    """
    settings = admin_settings(config)
    world = world or RealWorld()
    if not settings.client_id:
        name = f"adminclient-{world.random.randrange(1 << 32):08x}"
        settings = attrs.evolve(settings, client_id=name)
    metadata = metadata_of(settings, world)
    async with open_client(metadata, name=settings.client_id, tree=tree) as client:
        yield Admin(client=client, settings=settings, timeout_s=settings.default_api_timeout_s)
