"""Member of a classic group: join, sync, heartbeat, leave.

The leader assigns ranges of partitions, as Kafka's range assignor does. There is no task for the
heartbeats: `keep` sends one when it is due, and joins again if the group asks for it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k11_join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from trio_kafka.protocol.messages.k14_sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from trio_kafka.protocol.stored.consumer_protocol import (
    AssignedPartitions,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from trio_kafka.testing.clients.errors import AnswerError, check
from trio_kafka.testing.clients.link import Link
from trio_kafka.testing.clients.reading import partitions_of

_FIND, _JOIN, _HEARTBEAT, _LEAVE, _SYNC = 4, 9, 4, 5, 5
_VERSION: Final = 1  # of the embedded protocol, an int16 before each message
_PREFIX: Final = _VERSION.to_bytes(2, "big")
# Answers after which a member joins again. The first ones also cost it its id.
_FORGOTTEN: Final = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
}
REJOIN: Final = {*_FORGOTTEN, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS}


@define(eq=False, kw_only=True)
class Membership:
    """One member. partitions: its assignment; None: it must join first."""

    link: Link
    group: str
    topics: Sequence[str]
    session_s: float = 10.0
    rebalance_s: float = 30.0
    timeout_s: float = 120.0
    member_id: str = field(default="", init=False)
    generation: int = field(default=-1, init=False)
    partitions: list[TopicPartition] | None = field(default=None, init=False)
    _heartbeat_at: float = field(default=0.0, init=False)

    async def keep(self) -> bool:
        """Stay in the group; return whether the assignment is a new one.

        Call it at least every `session_s / 2`. Raises AnswerError, GaveUpError.
        """
        if self.partitions is not None and trio.current_time() >= self._heartbeat_at:
            await self.link.retry(self._heartbeat, self.timeout_s)
        if self.partitions is not None:
            return False
        await self.link.retry(self._join, self.timeout_s, REJOIN)
        return True

    def lost(self, code: ErrorCode) -> None:
        """Make the next `keep` join again, after an answer of `REJOIN`."""
        self.partitions = None
        if code in _FORGOTTEN:
            self.member_id, self.generation = "", -1

    async def leave(self) -> None:
        """Leave the group, if a member; failures are ignored, as the session ends anyway."""
        if self.member_id:
            self.partitions = None
            request = LeaveGroupRequest(self.group, members=[MemberIdentity(self.member_id)])
            try:
                await self.link.ask(request, _LEAVE)
            except (OSError, EOFError):
                return

    async def find(self) -> None:
        """Find the coordinator, which creates the topic of the offsets if there is none."""
        answer = await self.link.ask(FindCoordinatorRequest(coordinator_keys=[self.group]), _FIND)
        check(answer.coordinators[0].error_code)

    async def _heartbeat(self) -> None:
        request = HeartbeatRequest(self.group, self.generation, self.member_id)
        answer = await self.link.ask(request, _HEARTBEAT)
        if answer.error_code in REJOIN:
            self.lost(ErrorCode(answer.error_code))
        else:
            check(answer.error_code)
            self._heartbeat_at = trio.current_time() + self.session_s / 3

    async def _join(self) -> None:
        """Join and sync once. The next attempt begins with what this one has learned."""
        await self.find()
        said = ConsumerProtocolSubscription(topics=list(self.topics))
        protocol = JoinGroupRequestProtocol("range", _PREFIX + to_bytes(said, _VERSION))
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=round(self.session_s * 1000),
            rebalance_timeout_ms=round(self.rebalance_s * 1000),
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[protocol],
        )
        joined = await self.link.ask(request, _JOIN, more_s=self.rebalance_s)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:  # KIP-394
            request.member_id = self.member_id = joined.member_id
            joined = await self.link.ask(request, _JOIN, more_s=self.rebalance_s)
        self._check(joined.error_code)
        self.member_id, self.generation = joined.member_id, joined.generation_id
        sync = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name=joined.protocol_name,
            assignments=await self._assign(joined),
        )
        synced = await self.link.ask(sync, _SYNC, more_s=self.rebalance_s)
        self._check(synced.error_code)
        read = decoder(ConsumerProtocolAssignment, _VERSION)
        assignment, _ = read(synced.assignment, len(_PREFIX)) if synced.assignment else (None, 0)
        self.partitions = [
            TopicPartition(topic.topic, number)
            for topic in (assignment.assigned_partitions if assignment else ())
            for number in topic.partitions
        ]
        self._heartbeat_at = trio.current_time() + self.session_s / 3

    def _check(self, code: int) -> None:
        if code in REJOIN:
            self.lost(ErrorCode(code))
        check(code)

    async def _assign(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """Return the assignments of all members, if this one leads."""
        if joined.leader != joined.member_id:
            return []
        read = decoder(ConsumerProtocolSubscription, _VERSION)
        subscriptions = {
            member.member_id: list(read(member.metadata, len(_PREFIX))[0].topics)
            for member in joined.members
        }
        topics = sorted({name for names in subscriptions.values() for name in names})
        partitions: dict[str, list[TopicPartition]] = {}
        for name in topics:
            try:
                partitions.update(await partitions_of(self.link, [name]))
            except AnswerError as error:
                if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
        return [
            SyncGroupRequestAssignment(member, _assignment(owned))
            for member, owned in assign_ranges(subscriptions, partitions).items()
        ]


def assign_ranges(
    subscriptions: Mapping[str, Sequence[str]], partitions: Mapping[str, Sequence[TopicPartition]]
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member: of each topic a range, the first ones one longer."""
    owned: dict[str, list[TopicPartition]] = {member: [] for member in sorted(subscriptions)}
    for topic in sorted(partitions):
        members = [member for member in owned if topic in subscriptions[member]]
        unassigned = list(partitions[topic])
        for place, member in enumerate(members):
            size = -(-len(unassigned) // (len(members) - place))
            owned[member] += unassigned[:size]
            del unassigned[:size]
    return owned


def _assignment(owned: Sequence[TopicPartition]) -> bytes:
    topics: dict[str, list[int]] = {}
    for at in owned:
        topics.setdefault(at.topic, []).append(at.partition)
    topic_partitions = [AssignedPartitions(topic, numbers) for topic, numbers in topics.items()]
    return _PREFIX + to_bytes(ConsumerProtocolAssignment(topic_partitions), _VERSION)
