"""Keep connected clients alive while the broker's clock is moved.

Their own clocks stand still meanwhile, so they send no heartbeat and no request: their connections
and the sessions of their members age by real time only.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from trio_kafka.broker import RunningBroker
from trio_kafka.coordinators.effects import TimerKey
from trio_kafka.coordinators.groups.classic.group import SESSION as CLASSIC_SESSION
from trio_kafka.coordinators.groups.consumer.transition import SESSION as CONSUMER_SESSION
from trio_kafka.network.connection import Connection
from trio_kafka.testing.kafka.groups import list_groups
from trio_kafka.world.clock import SkippingClock

_SESSIONS = frozenset({CLASSIC_SESSION, CONSUMER_SESSION})


async def lost_members(broker: RunningBroker) -> set[str]:
    """Return the ids of members without a connection: none has their client id."""
    connected = {connection.figures()["client_id"] for connection in _connections(broker)}
    return {
        member.member_id
        for group in await list_groups(broker)
        for member in group.members
        if member.client_id not in connected
    }


@contextmanager
def clients_held(
    broker: RunningBroker, clock: SkippingClock, lost: Collection[str]
) -> Iterator[None]:
    """Keep connections, and the sessions of all members but `lost`, from ageing by skipped time."""

    def is_held(key: TimerKey) -> bool:
        return key[0] in _SESSIONS and key[2] not in lost

    def hold(seconds: float) -> None:
        for connection in _connections(broker):
            connection.progress += seconds
        for shard in broker.groups.runtime.shards.values():
            shard.keyed_timers.postpone(seconds, is_held)

    clock.skips.append(hold)
    try:
        yield
    finally:
        clock.skips.remove(hold)


def _connections(broker: RunningBroker) -> Iterator[Connection]:
    for plane in broker.planes:
        for processor in plane.processors:
            yield from processor.connections.values()
