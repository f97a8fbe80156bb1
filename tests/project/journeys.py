"""Journeys of requests: own functions that run from a frame to its answer, in all tasks.

The worlds do not count: the simulated one takes more steps than the real one. Each journey is made
several times, and the shortest counts: a periodic task may run during another one.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from operator import attrgetter
from types import FrameType
from typing import Any

from attrs import define, field

from tests.apis.classic import join_request
from tests.apis.kit import batch, produce_request
from tests.project.tree import ROOT
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka.testing.simulation import simulated_world

OWN = tuple(str(ROOT / root) for root in ("trio_kafka", "plugins"))
WORLD = str(ROOT / "trio_kafka" / "world")
FIRST, LAST = "Framer.received", "Writer.answer"
PRODUCE_VERSION, JOIN_VERSION, CONFIGS_VERSION = 11, 9, 1
WARM = 3  # the first ones compile codecs and import modules
JOURNEYS = 3
NO_DELAY = {"group.initial.rebalance.delay.ms": "0"}


def is_own(file: str) -> bool:
    return file.startswith(OWN) and not file.startswith(WORLD)


@define
class Journey:
    """Own functions that ran between two calls. entries: calls from another file."""

    calls: list[str] = field(factory=list)
    files: set[str] = field(factory=set)
    entries: int = 0
    is_running: bool = False

    @property
    def size(self) -> tuple[int, int, int]:
        """Calls, files, entries."""
        return len(self.calls), len(self.files), self.entries

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """See `sys.setprofile`."""
        del argument
        code = frame.f_code
        if event != "call" or not is_own(code.co_filename):
            return
        if code.co_qualname == FIRST:
            self.calls.clear()
            self.files.clear()
            self.entries, self.is_running = 0, True
        if self.is_running:
            self.calls.append(code.co_qualname)
            self.files.add(code.co_filename)
            caller = frame.f_back
            self.entries += caller is None or caller.f_code.co_filename != code.co_filename
        if code.co_qualname == LAST:
            self.is_running = False


@contextmanager
def traced() -> Iterator[Journey]:
    journey = Journey()
    sys.setprofile(journey.profile)
    try:
        yield journey
    finally:
        sys.setprofile(None)


def small_produce() -> ProduceRequest:
    """One record with a time, as clients send it."""
    return produce_request("t", (0, batch(b"v")), acks=-1)


def new_retention(milliseconds: int) -> IncrementalAlterConfigsRequest:
    setting = AlterableConfig(name="retention.ms", config_operation=0, value=str(milliseconds))
    topic = AlterConfigsResource(resource_type=2, resource_name="t", configs=[setting])
    return IncrementalAlterConfigsRequest(resources=[topic])


def shortest(journeys: list[Journey]) -> Journey:
    return min(journeys, key=attrgetter("size"))


async def journey_of_a_produce() -> Journey:
    """One record, acks=all, into a topic that was written to before."""
    journeys = []
    async with served_broker(simulated_world()) as served, served.connect() as client:
        await served.create_topic("t")
        for _ in range(WARM + JOURNEYS):
            with traced() as journey:
                await client.ask(small_produce(), PRODUCE_VERSION)
            journeys.append(journey)
    return shortest(journeys[WARM:])


async def journey_of_a_setting() -> Journey:
    """A changed setting of a topic: handler, controller, metadata log, publishers, answer."""
    journeys = []
    async with served_broker(simulated_world()) as served, served.connect() as client:
        await served.create_topic("t")
        for number in range(WARM + JOURNEYS):
            with traced() as journey:
                await client.ask(new_retention(1000 + number), CONFIGS_VERSION)
            journeys.append(journey)
    return shortest(journeys[WARM:])


async def join(client: ScriptedClient, group: str) -> Journey:
    """Join an empty group with the id that the first answer gives, the only member."""
    first = await client.ask(join_request(JOIN_VERSION, group=group), JOIN_VERSION)
    request = join_request(JOIN_VERSION, first.member_id, group=group)
    with traced() as journey:
        answer = await client.ask(request, JOIN_VERSION)
    assert (answer.error_code, answer.generation_id) == (0, 1)
    return journey


@asynccontextmanager
async def joined_before(*groups: str) -> AsyncIterator[tuple[ServedBroker, ScriptedClient]]:
    """A broker that serves `groups`, and other ones that have had members: it is warm."""
    async with served_broker(simulated_world(), NO_DELAY) as served, served.connect() as client:
        warm = [f"warm-{number}" for number in range(WARM)]
        await served.serve_groups(*warm, *groups)
        for group in warm:
            await join(client, group)
        yield served, client


async def journey_of_a_join() -> Journey:
    """The first member of a group. It is answered in a later pass of the loop, by a timer."""
    groups = [f"g-{number}" for number in range(JOURNEYS)]
    async with joined_before(*groups) as (_, client):
        return shortest([await join(client, group) for group in groups])
