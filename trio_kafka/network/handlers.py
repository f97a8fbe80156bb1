"""Interface of request handlers for the network plane, and resources that its tasks share."""

from collections.abc import Callable, Mapping
from typing import Protocol

import trio
from attrs import Factory, field

from trio_kafka.attributes import frozen
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.request_metrics import RECENT, RequestMetrics
from trio_kafka.introspect.tree import Node
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.network.authentication.phase import Authentication
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.listener_tls import ListenerTls
from trio_kafka.network.memory import MemoryPool
from trio_kafka.network.request import Request
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.wire.frame import Buffers
from trio_kafka.world.memory import new_buffer
from trio_kafka.world.world import World


class Handlers(Protocol):
    """Serves the requests of a request channel."""

    @property
    def size(self) -> int:
        """Number of requests that may be served at once (`num.io.threads`)."""

    @property
    def names(self) -> Mapping[int, str]:
        """Names of the served APIs by key."""

    @property
    def idle(self) -> int:
        """Number of idle handlers, `size` at most."""

    def largest_request(self, key: int) -> int:
        """Return the largest request in bytes that an API declares; 0 if it declares none."""

    def perform(self, request: Request) -> bool:
        """Serve or park a plain request, in any task.

        Returns False, and does nothing, if its handler may wait. Raises InvariantError only.
        """

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the handler tasks until cancelled; started when they run."""


@frozen(kw_only=True)
class PlaneResources:
    """Resources that the tasks of one plane share.

    node: parent of the plane's nodes. budget, channel: those of its handlers.
    limits: connection limits of the broker.
    memory: pool for requests that are received or in flight; None: unbounded.
    recent: how many requests of each API are kept for inspection.
    tls: that of the listeners that have it, by name. handshake_turn: of their handshakes.
    authentication: returns how the connections of a listener are authenticated; None: they may ask
        anything at once.
    """

    world: World
    channel: RequestChannel
    handlers: Handlers
    budget: LoopBudget
    counters: Counters
    node: Node
    limits: ConnectionLimits
    memory: MemoryPool | None = None
    recent: int = RECENT
    tls: Mapping[str, ListenerTls] = Factory(dict)
    handshake_turn: trio.Lock = field(init=False, factory=trio.Lock)
    authentication: Callable[[ListenerSettings], Authentication | None] = lambda _: None
    buffers: Buffers = field(init=False, factory=lambda: Buffers(new_buffer))
    request_metrics: RequestMetrics = field(
        init=False, default=Factory(lambda self: self._make_request_metrics(), takes_self=True)
    )

    def _make_request_metrics(self) -> RequestMetrics:
        node = self.node.add("requests", "part")
        return RequestMetrics(
            node, lambda: self.handlers.names, self.recent, elapsed=self.budget.elapsed
        )
