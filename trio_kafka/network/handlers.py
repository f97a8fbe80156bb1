"""Interface of request handlers for the network plane, and resources that its tasks share."""

from collections.abc import Mapping
from typing import Protocol

import trio

from trio_kafka.attributes import frozen
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.request_metrics import RequestMetrics
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.request import Request
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.wire.frame import Buffers
from trio_kafka.wire.memory import MemoryPool
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
    """Resources that the tasks of one plane share. memory: None: unbounded."""

    world: World
    channel: RequestChannel
    handlers: Handlers
    budget: LoopBudget
    buffers: Buffers
    counters: Counters
    request_metrics: RequestMetrics
    limits: ConnectionLimits
    memory: MemoryPool | None
