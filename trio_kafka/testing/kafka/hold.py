"""Keep connected clients alive while the broker's clock is moved.

Their own clocks stand still meanwhile, so they send no heartbeat and no request: their connections
and the sessions of their members age by real time only.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import trio

from trio_kafka.coordinators.effects import TimerKey
from trio_kafka.coordinators.groups.classic.group import SESSION as CLASSIC_SESSION
from trio_kafka.coordinators.groups.consumer.transition import SESSION as CONSUMER_SESSION
from trio_kafka.testing.kafka.clients import connected_clients, connections
from trio_kafka.testing.kafka.groups import list_groups
from trio_kafka.testing.running import HasParts
from trio_kafka.world.clock import SkippingClock

_HELD_S = 10.0  # a longer move of the clock keeps clients alive
_SESSIONS = frozenset({CLASSIC_SESSION, CONSUMER_SESSION})


class ClockError(RuntimeError):
    """The clock of this loop cannot be moved; the message names the remedy."""


async def lost_members(broker: HasParts) -> set[str]:
    """Return the ids of members without a connection: none has their client id."""
    connected = {client.client_id for client in connected_clients(broker)}
    return {
        member.member_id
        for group in await list_groups(broker)
        for member in group.members
        if member.client_id not in connected
    }


@contextmanager
def clients_held(broker: HasParts, clock: SkippingClock, lost: Collection[str]) -> Iterator[None]:
    """Keep connections, and the sessions of all members but `lost`, from ageing by skipped time."""

    def is_held(key: TimerKey) -> bool:
        return key[0] in _SESSIONS and key[2] not in lost

    def hold(seconds: float) -> None:
        for connection in connections(broker):
            connection.progress += seconds
        for shard in broker.parts.groups.runtime.shards.values():
            shard.keyed_timers.postpone(seconds, is_held)

    clock.skips.append(hold)
    try:
        yield
    finally:
        clock.skips.remove(hold)


async def move_clock(broker: HasParts, seconds: float, hold: bool | None = None) -> int:
    """Move the clock of the loop; return the number of deadlines that were met.

    hold: keep connected clients alive; None: for more than 10 s.
    Raises ValueError for a time below 0, ClockError in a loop whose clock cannot be moved.
    """
    clock = clock_of_loop()
    if not (seconds > _HELD_S if hold is None else hold):
        return await clock.advance(seconds)
    with clients_held(broker, clock, await lost_members(broker)):
        return await clock.advance(seconds)


def clock_of_loop() -> SkippingClock:
    """Return the clock of the loop. Raises ClockError if it cannot be moved."""
    clock = trio.lowlevel.current_clock()
    if not isinstance(clock, SkippingClock):
        raise ClockError(
            f"the clock of this loop is a {type(clock).__name__}, which cannot be moved: use"
            " running_broker() or the fixture kafka, trio-kafka start --testing, or"
            " trio.run(..., clock=SkippingClock())"
        )
    return clock
