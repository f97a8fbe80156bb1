"""Members of groups without a client library: many connections in one thread, requests typed.

The same client for every broker; what it costs itself is part of wall times, of both.
"""

import select
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from uuid import uuid4

from attrs import define, field

from trio_kafka.errors import ErrorCode
from trio_kafka.peers.in_flight import InFlightRequests
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from trio_kafka.protocol.structs.cluster import TopicPartitions
from trio_kafka.testing.processes import Address

COMMIT_VERSION: Final = 9
_FIND, _JOIN, _SYNC, _HEARTBEAT, _CONSUMER = 4, 9, 5, 4, 1  # versions
_SESSION_MS: Final = 45_000
_REBALANCE_MS: Final = 60_000
_SILENCE_S: Final = 30
_READY_S: Final = 60
_ROUNDS: Final = 200  # of heartbeats, until all have what is theirs
_LEAVE: Final = -1
_NOT_READY: Final = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}


class Crowd:
    """Connections that ask at the same time, each one question at once."""

    def __init__(self, address: Address, count: int) -> None:
        self._poll = select.epoll()
        self._sides: list[tuple[socket.socket, InFlightRequests]] = []
        self._by_key: dict[int, int] = {}
        for number in range(count):
            each = socket.create_connection(address, 30)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._by_key[each.fileno()] = number
            self._poll.register(each.fileno(), select.EPOLLIN)
            self._sides.append((each, InFlightRequests("bench")))

    def close(self) -> None:
        for each, _ in self._sides:
            each.close()
        self._poll.close()

    def ask(self, requests: Mapping[int, object], version: int) -> dict[int, Any]:
        """The answers, by connection, when all are there."""
        for number, request in requests.items():
            each, side = self._sides[number]
            each.sendall(side.add(request, version))
        answers: dict[int, Any] = {}
        while len(answers) < len(requests):
            ready = self._poll.poll(_SILENCE_S)
            if not ready:
                raise TimeoutError(f"no answer for {_SILENCE_S} s")
            for key, _ in ready:
                number = self._by_key[key]
                each, side = self._sides[number]
                answer = side.received(each.recv_into(side.room()))
                if answer is not None:
                    answers[number] = answer
        return answers


@contextmanager
def crowd(address: Address, count: int) -> Iterator[Crowd]:
    """Connections while the block runs."""
    result = Crowd(address, count)
    try:
        yield result
    finally:
        result.close()


def group_name(kind: str) -> str:
    """A name that no group had; all of a kind are equally long."""
    return f"bench-{kind}-{uuid4().hex[:12]}"


def commit_request(group: str, topic: str, partitions: Sequence[int]) -> OffsetCommitRequest:
    """Offsets of a consumer that is in no group of members."""
    rows = [OffsetCommitRequestPartition(number, 7, -1, "") for number in partitions]
    return OffsetCommitRequest(
        group_id=group, topics=[OffsetCommitRequestTopic(name=topic, partitions=rows)]
    )


def wait_for_coordinators(them: Crowd, groups: Sequence[str], topic: str) -> None:
    """Until each group's coordinator takes offsets. TimeoutError."""
    end = time.monotonic() + _READY_S
    for group in groups:
        while time.monotonic() < end:
            them.ask({0: FindCoordinatorRequest(key_type=0, coordinator_keys=[group])}, _FIND)
            answer = them.ask({0: commit_request(group, topic, [0])}, COMMIT_VERSION)[0]
            code = answer.topics[0].partitions[0].error_code
            if code not in _NOT_READY:
                _check("OffsetCommit", code)
                break
            time.sleep(0.05)
        else:
            raise TimeoutError(f"no coordinator for {group} in {_READY_S} s")


@define(eq=False)
class ClassicMembers:
    """Members of a classic group, from the connection `first` on, of a crowd."""

    them: Crowd
    topic: str
    partitions: int
    count: int
    first: int = 0
    group: str = field(factory=lambda: group_name("classic"))
    generation: int = field(default=-1, init=False)
    ids: list[str] = field(init=False)
    _version: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.ids = [""] * self.count

    def form(self) -> None:
        """All join for the first time."""
        for number, answer in self._ask([self._join(n) for n in range(self.count)], _JOIN).items():
            if answer.error_code != ErrorCode.MEMBER_ID_REQUIRED:
                _check("JoinGroup", answer.error_code)
            self.ids[number] = answer.member_id
        self.rebalance()

    def rebalance(self) -> None:
        """All join anew with other metadata, and get their assignment from one of them."""
        self._version += 1
        joined = self._ask([self._join(number) for number in range(self.count)], _JOIN)
        leader = None
        for number, answer in joined.items():
            _check("JoinGroup", answer.error_code)
            if answer.leader == answer.member_id:
                leader = number, [member.member_id for member in answer.members]
        if leader is None or len(leader[1]) != self.count:
            raise ValueError(f"JoinGroup: leader {leader} of {self.count} members")
        self.generation = joined[0].generation_id
        share = self.partitions // self.count
        sync_group_request_assignments = [
            SyncGroupRequestAssignment(member, number.to_bytes(4, "big") * share)
            for number, member in enumerate(leader[1])
        ]
        synced = self._ask(
            [
                SyncGroupRequest(
                    self.group,
                    self.generation,
                    self.ids[number],
                    None,
                    "consumer",
                    "range",
                    sync_group_request_assignments if number == leader[0] else [],
                )
                for number in range(self.count)
            ],
            _SYNC,
        )
        for answer in synced.values():
            _check("SyncGroup", answer.error_code)
            if len(answer.assignment) != 4 * share:
                raise ValueError(f"SyncGroup: an assignment of {len(answer.assignment)} bytes")

    def heartbeat(self, number: int) -> tuple[HeartbeatRequest, int]:
        return HeartbeatRequest(self.group, self.generation, self.ids[number]), _HEARTBEAT

    def _join(self, number: int) -> JoinGroupRequest:
        metadata = f"{self.topic} {self._version:6}".encode()
        return JoinGroupRequest(
            self.group,
            _SESSION_MS,
            _REBALANCE_MS,
            self.ids[number],
            None,
            "consumer",
            [JoinGroupRequestProtocol("range", metadata)],
        )

    def _ask(self, requests: Sequence[object], version: int) -> dict[int, Any]:
        by_number = {self.first + number: request for number, request in enumerate(requests)}
        answers = self.them.ask(by_number, version)
        return {number - self.first: answer for number, answer in answers.items()}


@define(eq=False)
class ConsumerMembers:
    """Members of a consumer group (KIP-848), as `ClassicMembers`; the last one comes and goes."""

    them: Crowd
    topic: str
    partitions: int
    count: int
    first: int = 0
    group: str = field(factory=lambda: group_name("consumer"))
    ids: list[str] = field(init=False)
    epochs: list[int] = field(init=False)
    _owned: list[list[TopicPartitions]] = field(init=False)
    _here: set[int] = field(init=False)
    _unsaid: set[int] = field(factory=set, init=False)  # have an assignment that they must tell of

    def __attrs_post_init__(self) -> None:
        self.ids = [str(uuid4()) for _ in range(self.count)]
        self.epochs = [0] * self.count
        self._owned = [[] for _ in range(self.count)]
        self._here = set(range(self.count - 1))

    def form(self) -> None:
        """All but the last one join for the first time."""
        self._settle()

    def rebalance(self) -> None:
        """The last one comes, or goes; until every partition is with its member."""
        last = self.count - 1
        if last in self._here:
            self._here.discard(last)
            self.epochs[last] = _LEAVE
            answer = self._ask([last])[last]
            _check("ConsumerGroupHeartbeat", answer.error_code)
            self.epochs[last], self._owned[last] = 0, []
        else:
            self._here.add(last)
        self._settle()

    def heartbeat(self, number: int) -> tuple[ConsumerGroupHeartbeatRequest, int]:
        epoch = self.epochs[number]
        joins = epoch == 0
        tells = joins or number in self._unsaid
        self._unsaid.discard(number)
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.ids[number],
            member_epoch=epoch,
            rebalance_timeout_ms=_REBALANCE_MS if joins else -1,
            subscribed_topic_names=[self.topic] if joins else None,
            topic_partitions=self._owned[number] if tells and epoch != _LEAVE else None,
        )
        return request, _CONSUMER

    def counts(self) -> list[int]:
        """How many partitions each has."""
        return [sum(len(topic.partitions) for topic in owned) for owned in self._owned]

    def _settle(self) -> None:
        for _ in range(_ROUNDS):
            here = sorted(self._here)
            for number, answer in self._ask(here).items():
                _check("ConsumerGroupHeartbeat", answer.error_code)
                self.epochs[number] = answer.member_epoch
                if answer.assignment is not None:
                    self._owned[number] = answer.assignment.topic_partitions
                    self._unsaid.add(number)
            counts = self.counts()
            owned = sum(counts[number] for number in here)
            same = len({self.epochs[number] for number in here}) == 1
            if same and owned == self.partitions and not self._unsaid:
                return
        raise TimeoutError(f"{self.group}: not settled after {_ROUNDS} rounds of heartbeats")

    def _ask(self, numbers: Sequence[int]) -> dict[int, Any]:
        requests = {self.first + number: self.heartbeat(number)[0] for number in numbers}
        answers = self.them.ask(requests, _CONSUMER)
        return {number - self.first: answer for number, answer in answers.items()}


KINDS: Final = {"classic": ClassicMembers, "consumer": ConsumerMembers}


def _check(api: str, code: int) -> None:
    if code:
        raise ValueError(f"{api}: {ErrorCode(code).name}")
