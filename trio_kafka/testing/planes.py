"""A plane with a few handlers on any World: the part of a broker that plane tests need."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypedDict, Unpack, cast

import trio

from trio_kafka.attributes import define
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.tree import Node
from trio_kafka.model import Endpoint, NodeId, code_of
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.network.authentication.phase import Authentication
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.connection import Connection
from trio_kafka.network.handlers import PlaneResources
from trio_kafka.network.listener_tls import ListenerTls
from trio_kafka.network.memory import MemoryPool
from trio_kafka.network.plane import Plane
from trio_kafka.network.processor import Processor
from trio_kafka.network.request import Request
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.purgatory import Purgatory, Timers
from trio_kafka.requests.api import api_of
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.pool import HandlerGroup
from trio_kafka.requests.registry import Registry
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.testing.scripted_client import ScriptedClient, connected
from trio_kafka.wire.frame import SMALL
from trio_kafka.world.world import World


@define(eq=False, kw_only=True)
class RunningPlane:
    world: World
    plane: Plane
    endpoint: Endpoint
    others: Sequence[Endpoint]  # endpoints of `more`
    limits: ConnectionLimits
    group: HandlerGroup
    channel: RequestChannel
    parts: Parts
    counters: Counters
    node: Node
    budget: LoopBudget
    timers: Timers
    purgatory: Purgatory
    nursery: trio.Nursery

    @property
    def processor(self) -> Processor:
        return self.plane.processors[0]

    @property
    def connections(self) -> list[Connection]:
        return [
            connection for line in self.plane.processors for connection in line.connections.values()
        ]

    @property
    def buffers_out(self) -> int:
        """Bytes of pooled buffers in use, if all have the small size."""
        buffers = self.processor.resources.buffers
        return buffers.fresh * SMALL - buffers.kept

    def closed(self, reason: str) -> int:
        return self.counters.value("connections_closed", listener="PLAINTEXT", reason=reason)


class PlaneOptions(TypedDict, total=False):
    """Options of `running_plane`.

    threads: handler tasks; 8. queued: bound of the request channel; 500. opened: whether it accepts
    at once; yes. share_s: of the loop; 0.25 ms. memory: request memory in bytes; unbounded.
    protected: protected listeners. listener: None: one processor. more: additional listeners.
    tls: of listeners, by name.
    authentication: of the clients of all listeners; none.
    """

    threads: int
    queued: int
    listener: ListenerSettings
    opened: bool
    share_s: float
    memory: int | None
    protected: Sequence[str]
    more: Sequence[ListenerSettings]
    tls: Mapping[str, ListenerTls]
    authentication: Authentication


@asynccontextmanager
async def running_plane(
    world: World, handlers: Iterable[Callable[..., object]], **options: Unpack[PlaneOptions]
) -> AsyncIterator[RunningPlane]:
    """Run a plane with these handlers."""
    share_s, memory = options.get("share_s", 0.00025), options.get("memory")
    registry = Registry()
    for handler in handlers:
        api = api_of(handler)
        assert api is not None
        registry.add(api)
    root = Node("plane data", "plane")
    channel = RequestChannel(options.get("queued", 500), root, world.clock.elapsed)
    counters = Counters()
    budget = LoopBudget(world.clock.elapsed, limit_s=max(0.002, share_s), share_s=share_s)
    parts = Parts(apis=registry, node_id=NodeId(1), cluster_id="cluster")
    size = options.get("threads", 8)
    group = HandlerGroup(channel, parts, budget=budget, counters=counters, node=root, size=size)
    timers = Timers(root)
    protected = options.get("protected", ())
    limits = ConnectionLimits(world.network, counters, root, protected=protected)
    resources = PlaneResources(
        world=world,
        channel=channel,
        handlers=group,
        budget=budget,
        counters=counters,
        node=root,
        limits=limits,
        memory=None if memory is None else MemoryPool(memory, world.clock.elapsed),
        tls=options.get("tls", {}),
        authentication=lambda _: options.get("authentication"),
    )
    plane = Plane("data", resources)
    parts.planes.append(plane)
    settings = options.get("listener") or ListenerSettings(processors=1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timers.run)
        await nursery.start(limits.run)
        endpoint, *others = await nursery.start(plane.run, [settings, *options.get("more", ())])
        if options.get("opened", True):
            plane.open()
        yield RunningPlane(
            world=world,
            plane=plane,
            endpoint=endpoint,
            others=others,
            limits=limits,
            group=group,
            channel=channel,
            parts=parts,
            counters=counters,
            node=root,
            budget=budget,
            timers=timers,
            purgatory=Purgatory("Test", timers, root),
            nursery=nursery,
        )
        nursery.cancel_scope.cancel()


async def until(condition: Callable[[], bool], timeout_s: float = 5.0) -> None:
    """Poll for a condition that no event announces."""
    with trio.fail_after(timeout_s):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await trio.sleep(0.001)


@asynccontextmanager
async def asked_plane(
    world: World, handlers: Iterable[Callable[..., object]], **options: Unpack[PlaneOptions]
) -> AsyncIterator[tuple[RunningPlane, ScriptedClient]]:
    """Run a plane as `running_plane` does, with a client connection."""
    async with (
        running_plane(world, handlers, **options) as plane,
        connected(world, plane.endpoint) as client,
    ):
        yield plane, client


def bare_request(number: int = 0, connection: object = None) -> Request:
    """Return a request with correlation id `number`, without a connection to answer on."""
    no_connection = cast("Connection", connection)
    return Request(
        memoryview(b""), code_of(18, 0), number, -1, no_connection, Stamps(received=0.0, begun=0.0)
    )


def numbers(requests: list[Request]) -> list[int]:
    """Return the correlation ids of requests."""
    return [request.correlation for request in requests]
