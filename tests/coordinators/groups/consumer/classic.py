"""Members of the classic protocol, beside those of KIP-848, in one scene."""

from typing import Any

from attrs import define, field

from tests.coordinators.groups.consumer.kit import GROUP, REBALANCE_MS, Scene
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.joining import join
from trio_kafka.coordinators.groups.classic.session import heartbeat, leave
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
from trio_kafka.coordinators.groups.consumer.embedded_protocol import read_assignment
from trio_kafka.coordinators.shards.effects import Ticket
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.stored.consumer_protocol import (
    AssignedPartitions,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    OwnedPartitions,
)

CLASSIC_SESSION_MS = 12_000
Owned = dict[str, list[int]]


def protocols(
    topics: list[str], owned: Owned | None = None, names: tuple[str, ...] = ("range",)
) -> tuple[GroupProtocol, ...]:
    said = ConsumerProtocolSubscription(
        topics=topics,
        owned_partitions=[OwnedPartitions(topic, of) for topic, of in (owned or {}).items()],
    )
    return tuple(GroupProtocol(name, b"\x00\x01" + to_bytes(said, 1)) for name in names)


def assignment(owned: Owned, user_data: bytes | None = None) -> bytes:
    assigned_partitions = [AssignedPartitions(topic, of) for topic, of in owned.items()]
    return b"\x00\x01" + to_bytes(ConsumerProtocolAssignment(assigned_partitions, user_data), 1)


@define(eq=False)
class Member:
    """A member of the classic protocol. has: what it was given last."""

    scene: Scene
    topics: list[str]
    member_id: str = ""
    instance: str | None = None
    generation: int = -1
    has: Owned = field(factory=dict)
    names: tuple[str, ...] = ("range",)

    def ask_join(self, **said: Any) -> Ticket:
        fields: dict[str, Any] = {
            "member_id": self.member_id,
            "instance_id": self.instance,
            "client_id": "client",
            "client_host": "/127.0.0.1",
            "session_timeout_ms": CLASSIC_SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "protocol_type": "consumer",
            "protocols": protocols(self.topics, self.has, self.names),
            "fresh": "fresh",
        }
        joining = Join(**fields | said)
        return self.scene.driver.submit(
            lambda groups, ticket, now_ms: join(GROUP, joining, groups, ticket, now_ms)
        )

    def join(self, **said: Any) -> JoinAnswer:
        """Joins at once, in a consumer group. Raises KafkaError."""
        joined = self.answer(self.ask_join(**said))
        assert isinstance(joined, JoinAnswer)
        if joined.error is not ErrorCode.NONE:
            raise KafkaError(joined.error)
        self.member_id, self.generation = joined.member_id, joined.generation
        return joined

    def answer(self, ticket: Ticket) -> Any:
        answer = self.scene.driver.answers[ticket]
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    def ask_sync(self, assignments: dict[str, bytes] | None = None, **said: Any) -> Ticket:
        fields: dict[str, Any] = {
            "member_id": self.member_id,
            "instance_id": self.instance,
            "generation": self.generation,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": assignments or {},
        }
        syncing = Sync(**fields | said)
        return self.scene.driver.submit(
            lambda groups, ticket, now_ms: sync(GROUP, syncing, groups, ticket, now_ms)
        )

    def sync(self, **said: Any) -> Owned:
        synced = self.answer(self.ask_sync(**said))
        assert isinstance(synced, SyncAnswer)
        return self.take(synced)

    def take(self, synced: SyncAnswer) -> Owned:
        result = read_assignment(synced.assignment)
        self.has = {
            partition.topic: partition.partitions for partition in result.assigned_partitions
        }
        return self.has

    def beat(self, **said: Any) -> ErrorCode:
        """NONE, or what it is told. Raises KafkaError for other errors."""
        fields = {
            "member_id": self.member_id,
            "instance_id": self.instance,
            "generation": self.generation,
        }
        beating = ClassicHeartbeat(**fields | said)
        ticket = self.scene.driver.submit(
            lambda groups, ticket, now_ms: heartbeat(GROUP, beating, groups, ticket, now_ms)
        )
        answer = self.scene.driver.answers[ticket]
        if answer is None:
            return ErrorCode.NONE
        assert isinstance(answer, KafkaError)
        if answer.code is not ErrorCode.REBALANCE_IN_PROGRESS:
            raise answer
        return answer.code

    def leave(self, *others: LeavingMember) -> list[ErrorCode]:
        members = others or (LeavingMember(member_id=self.member_id, instance_id=self.instance),)
        result: list[ErrorCode] = self.scene.driver.ask(
            lambda groups, ticket, now_ms: leave(GROUP, members, groups, ticket, now_ms)
        )
        return result

    def live(self, rounds: int = 4) -> None:
        """Does what a classic consumer does, until it has nothing more to do: it joins again where
        it is told to, without what it was not given.
        """
        for _ in range(rounds):
            if self.beat() is ErrorCode.NONE:
                return
            self.join()
            self.sync()


def classic_group(scene: Scene) -> ClassicGroup:
    result = scene.driver.machine.group(GROUP)
    assert isinstance(result, ClassicGroup)
    return result


def stable_classic(scene: Scene, *members: Member, assignments: list[Owned]) -> ClassicGroup:
    """A stable classic group of these members, each with what it is given."""
    tickets = [
        member.ask_join(asks_for_id=False, fresh=f"f{number}")
        for number, member in enumerate(members)
    ]
    scene.wait(10_000)
    for member, ticket in zip(members, tickets, strict=True):
        joined = member.answer(ticket)
        assert joined.error is ErrorCode.NONE
        member.member_id, member.generation = joined.member_id, joined.generation
    leader = classic_group(scene).leader
    encoded = {
        member.member_id: assignment(owned)
        for member, owned in zip(members, assignments, strict=True)
    }
    syncs = [member.ask_sync(encoded if member.member_id == leader else {}) for member in members]
    for member, ticket in zip(members, syncs, strict=True):
        member.take(member.answer(ticket))
    assert classic_group(scene).state == "Stable"
    return classic_group(scene)
