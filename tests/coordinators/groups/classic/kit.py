"""One classic group in virtual time: clients in a few words, answers as they come."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from attrs import define

from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.joining import join
from trio_kafka.coordinators.groups.classic.session import heartbeat, leave
from trio_kafka.coordinators.groups.classic.submachine import ClassicGroups, simple_group
from trio_kafka.coordinators.groups.classic.syncing import sync
from trio_kafka.coordinators.groups.classic.values import (
    ClassicHeartbeat,
    GroupProtocol,
    Join,
    JoinAnswer,
    LeavingMember,
    Sync,
    SyncAnswer,
)
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.shards.effects import Ticket
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.testing.machines import MachineDriver

GROUP = "g"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
DELAY_MS = 3000
NEVER_MS = 1 << 40  # groups without offsets are not cleaned up here


def subscription(*topics: str) -> bytes:
    """Subscription of a consumer to topics, in version 1."""
    names = b"".join(len(topic).to_bytes(2) + topic.encode() for topic in topics)
    return b"\x00\x01" + len(topics).to_bytes(4) + names + b"\xff\xff\xff\xff" + bytes(4)


RANGE = (GroupProtocol("range", subscription("t")),)
ROUND_ROBIN = (GroupProtocol("roundrobin", subscription("t")),)
BOTH = (*RANGE, *ROUND_ROBIN)


@define(eq=False)
class Request:
    """A request: `answer` is None while it waits."""

    driver: MachineDriver[Groups]
    ticket: Ticket

    @property
    def waits(self) -> bool:
        return self.ticket not in self.driver.answers

    @property
    def answer(self) -> Any:
        return self.driver.answers.get(self.ticket)

    @property
    def joined(self) -> JoinAnswer:
        assert isinstance(self.answer, JoinAnswer), self.answer
        return self.answer

    @property
    def synced(self) -> bytes:
        assert isinstance(self.answer, SyncAnswer), self.answer
        return self.answer.assignment

    @property
    def code(self) -> ErrorCode:
        """The error that it is answered with."""
        if isinstance(self.answer, JoinAnswer):
            return self.answer.error
        return self.answer.code if isinstance(self.answer, KafkaError) else ErrorCode.NONE


class ClassicKit:
    """One group `g`. `max_size`, `delay_ms`: of its settings."""

    def __init__(self, *, max_size: int = 1000, delay_ms: int = DELAY_MS) -> None:
        settings = GroupSettings(
            max_size=max_size,
            initial_rebalance_delay_ms=delay_ms,
            retention_check_interval_ms=NEVER_MS,
        )
        self._fresh = count(1)
        self.driver: MachineDriver[Groups] = MachineDriver(
            lambda: Groups([ClassicGroups], simple=simple_group, settings=settings)
        )

    @property
    def group(self) -> ClassicGroup:
        group = self.driver.machine.by_id[GROUP]
        assert isinstance(group, ClassicGroup)
        return group

    @property
    def state(self) -> str:
        group = self.driver.machine.by_id.get(GROUP)
        return "none" if group is None else group.state

    def wait(self, ms: int) -> None:
        self.driver.advance(ms)

    # Requests

    def join(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: tuple[GroupProtocol, ...] = RANGE,
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        client: str = "client",
        version: int = 9,
        reason: str | None = None,
    ) -> Request:
        joining = Join(
            member_id=member_id,
            instance_id=instance,
            client_id=client,
            client_host="/127.0.0.1",
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            protocol_type=protocol_type,
            protocols=protocols,
            reason=reason,
            fresh=str(next(self._fresh)),
            asks_for_id=version >= 4,
            skips_assignment=version >= 9,
        )
        return self._ask(lambda groups, t, now: join(GROUP, joining, groups, t, now))

    def sync(
        self,
        member_id: str,
        assignments: dict[str, bytes] | None = None,
        *,
        generation: int | None = None,
        instance: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> Request:
        syncing = Sync(
            member_id=member_id,
            instance_id=instance,
            generation=self.group.generation if generation is None else generation,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=assignments or {},
        )
        return self._ask(lambda groups, t, now: sync(GROUP, syncing, groups, t, now))

    def beat(
        self, member_id: str, *, generation: int | None = None, instance: str | None = None
    ) -> ErrorCode:
        member_generation = self.group.generation if generation is None else generation
        beating = ClassicHeartbeat(member_id, instance, member_generation)
        return self._ask(lambda groups, t, now: heartbeat(GROUP, beating, groups, t, now)).code

    def leave(self, *members: str | LeavingMember) -> list[ErrorCode] | KafkaError:
        leaving = [
            LeavingMember(member_id=member) if isinstance(member, str) else member
            for member in members
        ]
        answer: list[ErrorCode] | KafkaError = self._ask(
            lambda groups, t, now: leave(GROUP, leaving, groups, t, now)
        ).answer
        return answer

    def _ask(self, event: Any) -> Request:
        return Request(self.driver, self.driver.submit(event))

    # Groups that are somewhere

    def new_id(self, **how: Any) -> str:
        """A client asks for a member id, and has not come back with it yet."""
        request = self.join(**how)
        assert request.code is ErrorCode.MEMBER_ID_REQUIRED
        return request.joined.member_id

    def joining(self, size: int, **how: Any) -> list[Request]:
        """An empty group's first members, all of whom wait."""
        return [self.join(self.new_id(**how), **how) for _ in range(size)]

    def completing(self, size: int = 2, **how: Any) -> list[str]:
        """The ids of the members of a generation that waits for its leader, the first of them."""
        joins = self.joining(size, **how)
        self.wait(2 * DELAY_MS)
        assert self.state == "CompletingRebalance"
        return [request.joined.member_id for request in joins]

    def stable(self, size: int = 2, **how: Any) -> list[str]:
        """The ids of the members of a stable group; the first one leads."""
        members = self.completing(size, **how)
        self.settle(members)
        return members

    def settle(self, members: Sequence[str]) -> None:
        """All sync; each member is assigned its own name."""
        leader = self.group.leader
        assert leader is not None
        for member in members:
            own = {each: each.encode() for each in members} if member == leader else None
            self.sync(member, own)
        assert self.state == "Stable"

    def stable_static(self, instance: str, **how: Any) -> str:
        """The id of the only member, a static one."""
        request = self.join(instance=instance, **how)
        self.wait(DELAY_MS)
        member = request.joined.member_id
        self.settle([member])
        return member

    def add_static(
        self, leader: str, instance: str, *, leader_instance: str | None = None, **how: Any
    ) -> str:
        """A static member joins the leader of a stable group; both are stable again. Its id."""
        request = self.join(instance=instance, **how)
        self.join(leader, instance=leader_instance, protocols=how.get("protocols", RANGE))
        member = request.joined.member_id
        self.settle([leader, member])
        return member
