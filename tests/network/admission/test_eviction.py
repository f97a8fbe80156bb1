"""Connections to close when there are more than the broker may have; `test_limits` has it on a
plane.
"""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock

from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.model import Endpoint
from trio_kafka.network.admission.eviction import _close_some
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.quotas.connection import ConnectionBounds
from trio_kafka.testing.simulation import simulated_world


class Handle:
    peer = Endpoint("10.0.0.1", 5)

    def close(self) -> None:
        """Nothing is open."""


@define(eq=False)
class Connection:
    """A connection as far as it matters here."""

    slot: Any
    progress: float
    ending: Any = None
    closed: list[str] = field(factory=list)

    def close(self, reason: str) -> None:
        self.closed.append(reason)
        self.slot.close()


def crowd(limits: ConnectionLimits, progress: list[float]) -> list[Connection]:
    admission = limits.admission("PLAINTEXT")
    result = []
    for progress_s in progress:
        slot: Any = admission.arrive(Handle())  # type: ignore[arg-type]
        slot.connection = Connection(slot, progress_s)
        result.append(slot.connection)
    return result


@pytest.fixture
def limits() -> ConnectionLimits:
    return ConnectionLimits(simulated_world().network, Counters(), Node("plane", "plane"))


async def test_only_the_least_recently_used_connections_above_the_limit_are_closed(
    autojump_clock: MockClock, nursery: trio.Nursery, limits: ConnectionLimits
) -> None:
    progress = [float(number * 7919 % 5000) for number in range(5000)]
    connections = crowd(limits, progress)
    await nursery.start(limits.run)

    limits.obey(ConnectionBounds(connections=3000))
    await trio.sleep(1)

    assert {connection.progress for connection in connections if connection.closed} == set(
        map(float, range(2000))
    )
    assert limits.accounts.total == 3000
    nursery.cancel_scope.cancel()


async def test_a_connection_that_is_already_ending_is_evicted_before_an_older_active_connection(
    autojump_clock: MockClock, nursery: trio.Nursery, limits: ConnectionLimits
) -> None:
    old, ending = crowd(limits, [1.0, 9.0])
    ending.ending = ("left", "")
    await nursery.start(limits.run)

    limits.obey(ConnectionBounds(connections=1))
    await trio.sleep(1)

    assert [bool(old.closed), bool(ending.closed)] == [False, True]
    nursery.cancel_scope.cancel()


async def test_a_connection_without_a_processor_is_evicted_only_when_a_processor_has_taken_charge(
    autojump_clock: MockClock, nursery: trio.Nursery, limits: ConnectionLimits
) -> None:
    (connection,) = crowd(limits, [1.0])
    slot, connection.slot.connection = connection.slot, None
    await nursery.start(limits.run)
    limits.obey(ConnectionBounds(connections=0))
    await trio.sleep(1)
    assert not connection.closed

    slot.connection = connection
    await trio.sleep(1)

    assert connection.closed
    nursery.cancel_scope.cancel()


async def close_some(limits: ConnectionLimits, meanwhile: Callable[[], None]) -> None:
    """Look for who is to be closed; `meanwhile` happens when those of the first slice were seen."""

    async def act() -> None:
        await trio.lowlevel.checkpoint()
        meanwhile()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(_close_some, limits.accounts, limits.listeners)
        nursery.start_soon(act)


async def test_a_connection_that_makes_progress_during_the_eviction_scan_stays_open(
    limits: ConnectionLimits,
) -> None:
    oldest, *others = crowd(limits, [float(number) for number in range(1500)])
    limits.obey(ConnectionBounds(connections=1498))

    def work() -> None:
        oldest.progress = 9999.0

    await close_some(limits, work)

    assert not oldest.closed
    assert [bool(other.closed) for other in others[:2]] == [True, False]


async def test_no_connection_is_evicted_when_another_closes_during_the_scan(
    limits: ConnectionLimits,
) -> None:
    connections = crowd(limits, [float(number) for number in range(1500)])
    limits.obey(ConnectionBounds(connections=1499))

    await close_some(limits, connections[-1].slot.close)

    assert not any(connection.closed for connection in connections)
