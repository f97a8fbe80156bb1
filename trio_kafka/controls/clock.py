"""Move the broker's clock, and keep connected clients alive meanwhile.

Their own clocks stand still meanwhile, so they send no heartbeat and no request: their connections,
their long polls and the sessions of their members age by real time only. So none of these splits
the way of the clock, nor does a periodic job that has nothing to do (`Scheduler.look_ahead`).
"""

from collections.abc import Collection, Hashable, Iterator
from contextlib import contextmanager

import trio

from trio_kafka.attributes import define
from trio_kafka.controls.clients import connected_clients, connections
from trio_kafka.controls.groups import list_groups
from trio_kafka.controls.running import HasParts
from trio_kafka.coordinators.groups.classic.group import SESSION as CLASSIC_SESSION
from trio_kafka.coordinators.groups.consumer.transition import SESSION as CONSUMER_SESSION
from trio_kafka.coordinators.shards.effects import TimerKey
from trio_kafka.coordinators.shards.keyed_timers import KeyedTimers
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.purgatory import Purgatory, Timer, Timers
from trio_kafka.replication.purgatories import Purgatories
from trio_kafka.world.clock import Follower, SkippingClock

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

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


@define(eq=False)
class ClientsHeld:
    """Connections, sessions of members and long polls, which do not age by skipped time.

    lost: ids of members that are not held.
    """

    _broker: HasParts
    _lost: Collection[str]

    def look_ahead(self, goal: float) -> None:
        """Let the clock pass the deadlines that `skipped` puts off."""
        del goal
        self._timers.pass_over(self._held())

    def skipped(self, seconds: float) -> None:
        """Put off deadlines, as the clocks of clients stand still."""
        for connection in connections(self._broker):
            connection.progress += seconds
        held = self._held()
        self._polls.postpone(seconds)
        for timers in self._sessions:
            timers.postpone(seconds, self._is_held)
        self._timers.postpone(held, seconds)
        self.arrived()

    def arrived(self) -> None:
        """Wait for the first deadline of all again."""
        self._timers.set_wake()

    @property
    def _polls(self) -> Purgatory:
        return self._broker.parts[Purgatories].fetch

    @property
    def _sessions(self) -> list[KeyedTimers]:
        shards = self._broker.parts.groups.runtime.shards.values()
        return [shard.keyed_timers for shard in shards]

    @property
    def _timers(self) -> Timers:
        """Timers of the whole broker."""
        return self._polls.timers

    def _held(self) -> set[Timer]:
        sessions = (timers.timers(self._is_held) for timers in self._sessions)
        return self._polls.own_timers().union(*sessions)

    def _is_held(self, key: TimerKey) -> bool:
        return key[0] in _SESSIONS and key[2] not in self._lost


async def move_clock(broker: HasParts, seconds: float, hold: bool | None = None) -> int:
    """Move the clock of the loop; return the number of deadlines that were met.

    Periodic jobs and compactions that became due, or ran before, have ended when this returns.
    hold: keep connected clients alive; None: for more than 10 s.
    Raises ValueError for a time below 0, ClockError in a loop whose clock cannot be moved,
    TimeoutError if the work at one deadline does not end.
    """
    clock = clock_of_loop()
    logs = broker.parts[LogManager]
    ends: dict[Hashable, int] = {(log.topic_id, log.partition): log.end_offset for log in logs.logs}
    followers: list[Follower] = [broker.parts.scheduler]
    if seconds > _HELD_S if hold is None else hold:
        followers.append(ClientsHeld(broker, await lost_members(broker)))
    before = clock.moved
    with following(clock, followers):
        clock.writes.note_move(ends, before, before + seconds)
        try:
            return await clock.advance(seconds, _tasks_of_jobs(broker))
        finally:  # it may have been cancelled
            clock.writes.note_move(ends, before, clock.moved)


def _tasks_of_jobs(broker: HasParts) -> set[trio.lowlevel.Task]:
    """Return the tasks that run periodic jobs and compactions."""
    periodic = broker.parts.scheduler.task
    return broker.parts.cleaner.tasks.union([] if periodic is None else [periodic])


@contextmanager
def following(clock: SkippingClock, followers: Collection[Follower]) -> Iterator[None]:
    """Let followers take part in moves of the clock."""
    clock.followers += followers
    try:
        yield
    finally:
        for follower in followers:
            clock.followers.remove(follower)


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
