"""What the network plane wants of those who serve its requests, and what its tasks share."""

from collections.abc import Mapping
from typing import Protocol

import trio

from trio_kafka.attributes import frozen
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.stamps import Times
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.request import Request
from trio_kafka.network.turn import Turn
from trio_kafka.wire.frame import Buffers
from trio_kafka.wire.memory import MemoryPool
from trio_kafka.world.world import World


class Handlers(Protocol):
    """Serves what the request channel holds."""

    @property
    def size(self) -> int:
        """How many may be served at once."""

    @property
    def names(self) -> Mapping[int, str]:
        """The API keys that are served, with their names."""

    @property
    def idle(self) -> int:
        """Number of idle handlers, `size` at most."""

    def largest_request(self, key: int) -> int:
        """Bytes of the largest request that an API declares; 0 if it declares none."""

    def perform(self, request: Request) -> bool:
        """Serve a plain request to its end, or park it: whoever has it may call. False: it is not
        plain, nothing was done. Raises InvariantError alone.
        """

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """The handler tasks, until cancelled; started when they run."""


@frozen(kw_only=True)
class Shared:
    """What the tasks of one plane share."""

    world: World
    channel: RequestChannel
    handlers: Handlers
    turn: Turn
    buffers: Buffers
    counters: Counters
    times: Times
    limits: ConnectionLimits
    memory: MemoryPool | None
