"""Connections that have not logged in yet: each has 30 s, from its begin.

A connection before its login costs as much memory as `sasl.server.max.receive.size` allows, and
anyone can open one. Kafka leaves it open for `connections.max.idle.ms`, ten minutes by default, and
longer if a byte comes now and then. Clients log in as soon as they are connected.
"""

from collections.abc import Callable
from typing import Final, NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.network.connection import Connection

LOGIN_S: Final = 30.0
_A_TURN: Final = 100  # connections looked at between two checkpoints


@define(eq=False)
class LoginDeadlines:
    """Deadlines of the connections of one processor. close: closes one that is late."""

    _close: Callable[[Connection], None]
    _ends: dict[Connection, float] = field(factory=dict, init=False)  # the earliest first
    _begun: trio.Event = field(factory=trio.Event, init=False)

    def __len__(self) -> int:
        return len(self._ends)

    def begin(self, connection: Connection) -> None:
        """Give a new connection its deadline."""
        self._forget_closed()
        self._ends[connection] = trio.current_time() + LOGIN_S
        self._begun.set()

    def end(self, connection: Connection) -> None:
        """Note that a connection has logged in, or has failed. Idempotent."""
        self._ends.pop(connection, None)

    async def run(self) -> NoReturn:
        """Close connections at their deadlines, until cancelled."""
        while True:
            await self._begun.wait()
            for _ in range(_A_TURN):
                self._forget_closed()
                first = next(iter(self._ends), None)
                if first is None or self._ends[first] > trio.current_time():
                    break
                del self._ends[first]
                self._close(first)
            if self._ends:
                await trio.sleep_until(next(iter(self._ends.values())))
            else:
                self._begun = trio.Event()

    def _forget_closed(self) -> None:
        """Forget those at the head that their clients have closed: a few in each call."""
        for _ in range(_A_TURN):
            first = next(iter(self._ends), None)
            if first is None or not first.closed:
                return
            del self._ends[first]
