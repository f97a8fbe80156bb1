"""Membership by KIP-848: the task that sends heartbeats, and the reader's part of a rebalance."""

from collections.abc import Callable

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.groups.coordinator import Coordinator
from trio_kafka.clients.consumer.groups.member import ConsumerMember, MemberState
from trio_kafka.clients.consumer.groups.offsets import MemberIdentity
from trio_kafka.clients.consumer.groups.rebalance import Rebalance
from trio_kafka.clients.errors import ClientError, error_of
from trio_kafka.introspect.tree import Figures
from trio_kafka.model import TopicPartition


@define(eq=False, kw_only=True)
class ConsumerMembership:
    """Shell of a `ConsumerMember`. wake: wakes the reader."""

    member: ConsumerMember
    coordinator: Coordinator
    rebalance: Rebalance
    wake: Callable[[], None]
    _state_changed: trio.Event = field(factory=trio.Event, init=False)
    _updates: int = field(default=-1, init=False)
    _asking: trio.CancelScope = field(factory=trio.CancelScope, init=False)

    @property
    def needs_turn(self) -> bool:
        member = self.member
        if member.is_lost or member.failure is not None:
            return True
        if member.state is not MemberState.RECONCILING:
            return False
        return self._updates != self.coordinator.client.metadata.cache.updates

    @property
    def identity(self) -> MemberIdentity | None:
        member = self.member
        if member.is_lost or member.epoch <= 0:
            return None
        return MemberIdentity(
            member_id=member.member_id,
            epoch=member.epoch,
            instance_id=member.terms.instance_id,
        )

    @property
    def is_joining(self) -> bool:
        return False  # a member commits in its epoch at any time

    def subscribe(self, names: tuple[str, ...] | None, pattern: str | None) -> None:
        """Join the group, or change the subscription."""
        self.member.subscribe(names, pattern, trio.current_time())
        self._state_changed.set()

    async def run(self) -> None:
        """Send heartbeats when they are due, until cancelled."""
        member = self.member
        while True:
            self._state_changed = trio.Event()
            request = member.request(trio.current_time())
            if request is None:
                with trio.move_on_at(member.due):
                    await self._state_changed.wait()
                if member.is_lost:  # nothing is due before the reader has been here
                    await self._state_changed.wait()
                continue
            timeout_s = self.coordinator.client.settings.request_timeout_s
            response = None
            asking = self._asking = trio.CancelScope()
            try:
                with asking:
                    response = await self.coordinator.ask(request, timeout_s=timeout_s)
            except ClientError as error:
                member.unanswered(error, trio.current_time())
            if asking.cancelled_caught:
                member.withdrawn()
            if response is not None:
                self.coordinator.check(error_of(response.error_code))
                member.answered(response, trio.current_time())
                self._updates = -1
            if self.needs_turn:
                self.wake()

    async def turn(self) -> None:
        """Let lost partitions go, or take over a new assignment."""
        member = self.member
        if member.is_lost:
            await self.rebalance.lose()
            member.let_go(trio.current_time())
            self._state_changed.set()
        if member.failure is not None:
            raise member.failure.again()
        if member.state is MemberState.RECONCILING and member.target is not None:
            await self._reconcile()

    async def _reconcile(self) -> None:
        """Own those partitions of the target whose topics are known by name."""
        member, metadata = self.member, self.coordinator.client.metadata
        target = member.target or {}
        updates = metadata.cache.updates
        resolved: dict[bytes, frozenset[int]] = {}
        partitions: set[TopicPartition] = set()
        for topic_id, numbers in target.items():
            name = metadata.cache.name_of(topic_id)
            if name is None:
                metadata.request_refresh()
                continue
            resolved[topic_id] = numbers
            partitions.update(TopicPartition(name, number) for number in numbers)
        if resolved == member.owned and resolved != target:
            self._updates = updates
            await trio.lowlevel.checkpoint()
            return
        epoch = member.epoch
        failure: Exception | None = None
        try:
            await self.rebalance.change(frozenset(partitions))
        except Exception as error:  # noqa: BLE001 - of a hook: the partitions are owned all the same
            failure = error
        self._updates = updates
        if not member.is_lost and epoch > 0:
            member.acknowledge(resolved, trio.current_time())
            self._state_changed.set()
        if failure is not None:
            raise failure

    async def expire(self) -> None:
        """Leave, and lose all partitions."""
        await self.leave()
        self.member.is_lost = True

    async def leave(self) -> None:
        """Leave the group; an answer is waited for, and does not matter."""
        request = self.member.leave_request()
        if request is None:
            await trio.lowlevel.checkpoint()
            return
        # A heartbeat that waits for the coordinator could be sent after the leave, and join again.
        self._asking.cancel()
        timeout_s = self.coordinator.client.settings.request_timeout_s
        try:
            await self.coordinator.ask(request, timeout_s=timeout_s)
        except ClientError:
            return

    def figures(self) -> Figures:
        """Return the figures of the membership for the tree."""
        member = self.member
        return {
            "protocol": "consumer",
            "state": member.state.value,
            "epoch": member.epoch,
            "failures": member.failures,
        }
