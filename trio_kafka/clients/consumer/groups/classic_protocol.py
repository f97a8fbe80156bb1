"""Membership in a classic group: the task that joins and sends heartbeats, and the reader's part.

A rebalance goes back and forth. A heartbeat says that the group rebalances; the reader revokes
(all partitions, unless every assignor is cooperative); the task joins and synchronizes, and
computes the assignment of all if it leads; the reader takes the assignment over. With cooperative
assignors the reader goes on reading meanwhile, and joins again after it has revoked something.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.groups.assignors.values import Assignments
from trio_kafka.clients.consumer.groups.classic_requests import (
    SINGLE_LEAVE,
    ClassicMember,
    JoinState,
    older_leave,
    subscriptions,
)
from trio_kafka.clients.consumer.groups.coordinator import Coordinator
from trio_kafka.clients.consumer.groups.embedded import read_assignment
from trio_kafka.clients.consumer.groups.offsets import MemberIdentity
from trio_kafka.clients.consumer.groups.rebalance import Rebalance
from trio_kafka.clients.consumer.groups.subscribed_topics import SubscribedTopics
from trio_kafka.clients.errors import (
    ClientError,
    RetriableError,
    UnsupportedError,
    error_of,
)
from trio_kafka.clients.settings.consumer import ConsumerSettings
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.tree import Figures
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.scheduling.chunked_work import step

_MORE_S: Final = 5.0  # for the answer to JoinGroup, after the rebalance timeout
_BEATS: Final = frozenset({JoinState.PREPARING, JoinState.ASSIGNED, JoinState.STABLE})
_OUTSIDE: Final = frozenset({JoinState.IDLE, JoinState.LEFT, JoinState.FAILED})
_TURNS: Final = frozenset({JoinState.PREPARING, JoinState.ASSIGNED})


@define(eq=False, kw_only=True)
class ClassicMembership:
    """Shell of a `ClassicMember`. wake: wakes the reader."""

    member: ClassicMember
    settings: ConsumerSettings
    coordinator: Coordinator
    rebalance: Rebalance
    topics: SubscribedTopics
    wake: Callable[[], None]
    _failures: int = field(default=0, init=False)
    _state_changed: trio.Event = field(factory=trio.Event, init=False)

    @property
    def needs_turn(self) -> bool:
        member = self.member
        return member.state in _TURNS or member.is_lost or member.failure is not None

    @property
    def identity(self) -> MemberIdentity | None:
        member = self.member
        if member.is_lost or member.generation < 0:
            return None
        return MemberIdentity(
            member_id=member.member_id, epoch=member.generation, instance_id=member.instance_id
        )

    @property
    def is_joining(self) -> bool:
        return self.member.is_joining()

    def subscribe(self, names: tuple[str, ...] | None, pattern: str | None) -> None:
        """Join the group, or join it again with another subscription."""
        self.topics.subscribe(names, pattern)
        if self.member.state in _OUTSIDE:
            self.member.failure = None
            self.member.state = JoinState.JOINING
        else:
            self.member.rebalances()
            self.wake()
        self._state_changed.set()

    # --- the task

    async def run(self) -> None:
        """Join, and send heartbeats, until cancelled."""
        member = self.member
        while True:
            self._state_changed = trio.Event()
            if member.is_lost or member.state not in {JoinState.JOINING, *_BEATS}:
                await self._state_changed.wait()
                continue
            try:
                if member.state is JoinState.JOINING:
                    must_pause = await self._join()
                else:
                    must_pause = await self._beat()
            except RetriableError:
                must_pause = True
            except ClientError as error:
                member.fail(error)
                must_pause = False
            if self.needs_turn:
                self.wake()
            await self._pause(must_pause)

    async def _pause(self, must_pause: bool) -> None:
        """Wait before the next request: after a failure, or until the next heartbeat."""
        self._failures = self._failures + 1 if must_pause else 0
        if must_pause:
            chance = self.coordinator.client.world.random.random()
            await trio.sleep(self.settings.retry_backoff.pause_s(self._failures, chance))
        elif self.member.state in _BEATS:
            with trio.move_on_after(self.settings.heartbeat_interval_ms / 1000):
                await self._state_changed.wait()

    async def _beat(self) -> bool:
        """Send a heartbeat; return whether to pause."""
        member, generation = self.member, self.member.generation
        if member.state is JoinState.STABLE and self.topics.has_changed():
            member.rebalances()
            await trio.lowlevel.checkpoint()
            return False
        timeout_s = self.settings.request_timeout_s
        answer = await self.coordinator.ask(member.heartbeat_request(), timeout_s=timeout_s)
        code = error_of(answer.error_code)
        if not code or generation != member.generation:
            return False
        self.coordinator.check(code)
        return member.rejected(code)

    async def _join(self) -> bool:
        """Join and synchronize once; return whether to pause before the next attempt."""
        member = self.member
        names = await self.topics.join()
        owned = self.rebalance.owned if member.is_cooperative else frozenset()
        timeout_s = self.settings.max_poll_interval_ms / 1000 + _MORE_S
        joined = await self.coordinator.ask(member.join_request(names, owned), timeout_s=timeout_s)
        if not member.is_joining():
            return False
        code = error_of(joined.error_code)
        if code is ErrorCode.MEMBER_ID_REQUIRED:  # KIP-394
            member.member_id = joined.member_id
            return False
        if code:
            self.coordinator.check(code)
            return self._rejected(code)
        member.member_id, member.generation = joined.member_id, joined.generation_id
        is_leader = joined.leader == joined.member_id and not joined.skip_assignment
        assignments: Assignments = {}
        self.topics.led = None
        if is_leader:
            members = subscriptions(joined)
            led = await self.topics.lead(members)
            steps = member.assign(joined.protocol_name, led.counts, members, led.racks)
            while (result := step(steps)) is None:
                await trio.lowlevel.checkpoint()
            assignments = result.value
        synced = await self.coordinator.ask(
            member.sync_request(joined, assignments), timeout_s=timeout_s
        )
        if not member.is_joining():
            return False
        code = error_of(synced.error_code)
        if code:
            self.coordinator.check(code)
            return self._rejected(code)
        try:
            member.assignment = read_assignment(synced.assignment)
        except DecodeError as error:
            raise ClientError(f"the leader's assignment: {error}") from error
        member.state = JoinState.ASSIGNED
        return False

    def _rejected(self, code: ErrorCode) -> bool:
        """Take an error of JoinGroup or SyncGroup; without partitions nothing is lost by it."""
        must_pause = self.member.rejected(code)
        if self.member.is_lost and not self.rebalance.owned and self.member.failure is None:
            self.member.is_lost = False
        return must_pause

    # --- the reader's part

    async def turn(self) -> None:
        """Revoke before the member joins, or take the assignment over."""
        member = self.member
        failure: Exception | None = None
        if member.is_lost:
            await self.rebalance.lose()
            member.is_lost = False
        if member.failure is not None:
            raise member.failure.again()
        if member.state is JoinState.PREPARING:
            owned = self.rebalance.owned
            if not member.is_cooperative:
                failure = await self.rebalance.revoke(owned)
                member.before = owned
            if member.state is JoinState.PREPARING:
                member.state = JoinState.JOINING
        elif member.state is JoinState.ASSIGNED:
            await self._take_assignment()
        self._state_changed.set()
        if failure is not None:
            raise failure

    async def _take_assignment(self) -> None:
        member, generation = self.member, self.member.generation
        target = member.assignment
        if member.is_cooperative and self.rebalance.owned - target:
            member.again = True  # kept over a cancellation: others wait for what is given away
        failure: Exception | None = None
        try:
            await self.rebalance.change(target)
        except Exception as error:  # noqa: BLE001 - of a hook: the partitions are owned all the same
            failure = error
        if generation == member.generation:
            member.state = JoinState.PREPARING if member.again else JoinState.STABLE
            member.again = False
        if failure is not None:
            raise failure

    async def expire(self) -> None:
        """Leave, and lose all partitions."""
        await self._send_leave("max.poll.interval.ms has passed")
        self.member.lose()

    async def leave(self) -> None:
        """Leave the group; an answer is waited for, and does not matter."""
        # The coordinator answers a join when all members have joined: too late to say goodbye.
        overtakes = self.member.is_joining()
        self.member.state = JoinState.LEFT
        await self._send_leave("the consumer is closed", overtakes=overtakes)

    async def _send_leave(self, reason: str, *, overtakes: bool = False) -> None:
        request = self.member.leave_request(reason)
        self.member.member_id = ""
        if request is None:
            await trio.lowlevel.checkpoint()
            return
        timeout_s = self.settings.request_timeout_s
        with suppress(ClientError):
            try:
                await self.coordinator.ask(request, timeout_s=timeout_s, overtakes=overtakes)
            except UnsupportedError:
                older = older_leave(request)
                await self.coordinator.ask(
                    older, timeout_s=timeout_s, at_most=SINGLE_LEAVE, overtakes=overtakes
                )

    def figures(self) -> Figures:
        """Return the figures of the membership for the tree."""
        member = self.member
        return {
            "protocol": "classic",
            "state": member.state.value,
            "epoch": member.generation,
            "failures": self._failures,
            "leads": self.topics.led is not None,
        }
