"""Clients that commit offsets to a broker that may die at any time, and remember what they were
told.

What was acknowledged is there later, or something newer; what was never sent never is; and what a
reader has been told does not go back.
"""

import math
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import trio
from attrs import define, field

from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.testing.scripted_client import ScriptedClient, connected
from trio_kafka.world.world import World

TOPIC: Final = "t"
PARTITIONS: Final = 3
# What a client may be told of a coordinator that starts, stops, or has no topic yet.
PASSING: Final = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.TOPIC_ALREADY_EXISTS,
    ErrorCode.INVALID_REPLICATION_FACTOR,  # the only broker leaves
    ErrorCode.REQUEST_TIMED_OUT,
}


class LostOffsetError(AssertionError):
    """An offset is not what it must be."""


@define
class Place:
    """Committed offsets of a partition. sent: the last that was sent; confirmed: the last that was
    acknowledged or read.
    """

    sent: int = -1
    confirmed: int = -1


def check(code: int) -> bool:
    """Whether it was refused. AssertionError for what no client should be told."""
    if code and code not in PASSING:
        raise AssertionError(f"error {ErrorCode(code).name}")
    return bool(code)


@define(eq=False)
class Committer:
    """One group, and the only client that commits to it."""

    group: str
    chance: Random
    acknowledged: int = 0
    places: list[Place] = field(factory=lambda: [Place() for _ in range(PARTITIONS)])

    async def act(self, client: ScriptedClient) -> None:
        await (self.commit(client) if self.chance.random() < 0.8 else self.look(client))

    async def commit(self, client: ScriptedClient) -> None:
        """The next offsets of some partitions, as one request."""
        numbers = self.chance.sample(range(PARTITIONS), self.chance.randint(1, PARTITIONS))
        parts = []
        for number in numbers:
            self.places[number].sent += 1
            parts.append(OffsetCommitRequestPartition(number, self.places[number].sent, -1, "m"))
        sent = {number: self.places[number].sent for number in numbers}
        topic = OffsetCommitRequestTopic(TOPIC, partitions=parts)
        answer = await client.ask(OffsetCommitRequest(self.group, topics=[topic]), 9)
        for partition in answer.topics[0].partitions:
            if not check(partition.error_code):
                self.places[partition.partition_index].confirmed = sent[partition.partition_index]
                self.acknowledged += 1

    async def look(self, client: ScriptedClient) -> bool:
        """Whether there was an answer, which is held to what is known."""
        topic = OffsetFetchRequestTopics(TOPIC, partition_indexes=list(range(PARTITIONS)))
        groups = [OffsetFetchRequestGroup(self.group, topics=[topic])]
        (result,) = (await client.ask(OffsetFetchRequest(groups=groups), 9)).groups
        if check(result.error_code):
            return False
        for partition in result.topics[0].partitions:
            place = self.places[partition.partition_index]
            if not place.confirmed <= partition.committed_offset <= place.sent:
                raise LostOffsetError(
                    f"{self.group}, partition {partition.partition_index}:"
                    f" {partition.committed_offset}, want {place.confirmed} to {place.sent}"
                )
            place.confirmed = partition.committed_offset
        return True


@define(eq=False, kw_only=True)
class Committers:
    """Of one broker over all its lives. pause_s: the longest that each rests; beat_s: where it is
    not 0, all go on at multiples of it, several at once.
    """

    world: World
    chance: Random
    address: Endpoint
    pause_s: float = 0.03
    beat_s: float = 0.0
    count: int = 4
    groups: Sequence[Committer] = field()

    @groups.default
    def _(self) -> Sequence[Committer]:
        return [Committer(f"g{number}", self.chance) for number in range(self.count)]

    @property
    def acknowledged(self) -> int:
        return sum(group.acknowledged for group in self.groups)

    async def run(self) -> None:
        """All of them, until cancelled. Each begins anew when its connection ends."""
        async with trio.open_nursery() as nursery:
            for group in self.groups:
                nursery.start_soon(self._again, group, name=group.group)

    async def _again(self, committer: Committer) -> None:
        while True:
            try:
                async with connected(self.world, self.address) as client:
                    while True:
                        await committer.act(client)
                        await self._rest()
            except (OSError, EOFError):
                await trio.sleep(0.05)

    async def _rest(self) -> None:
        until = trio.current_time() + self.chance.uniform(0, self.pause_s)
        if self.beat_s:
            until = math.ceil(until / self.beat_s) * self.beat_s
        await trio.sleep_until(until)

    async def settle(self) -> None:
        """Until every group is served again; each offset is what it must be."""
        async with connected(self.world, self.address) as client:
            check((await self._create(client)).topics[0].error_code)
            for group in self.groups:
                request = FindCoordinatorRequest(coordinator_keys=[group.group])
                while check((await client.ask(request, 4)).coordinators[0].error_code):
                    await trio.sleep(0.02)
                while not await group.look(client):
                    await trio.sleep(0.02)

    async def _create(self, client: ScriptedClient) -> Any:
        return await client.ask(CreateTopicsRequest([CreatableTopic(TOPIC, PARTITIONS, 1)]), 7)
