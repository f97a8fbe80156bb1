"""The census finds what a test leaves open, and names it."""

import pytest
import trio
from attrs import define

from tests.census import Census, HeldError
from trio_kafka import held
from trio_kafka.introspect.limiter import open_limiter
from trio_kafka.introspect.tree import Node
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.memory import MemoryPool
from trio_kafka.purgatory import Delayed, Purgatory, Timers
from trio_kafka.requests.tokens import Tokens
from trio_kafka.testing.planes import bare_request
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.descriptors import Descriptors

pytestmark = pytest.mark.leaves("each test leaves something open, for a census of its own")


@define(eq=False)
class Taker:
    needed_bytes: int = 1

    def granted(self) -> None: ...


@pytest.fixture
def census() -> Census:
    return Census()


def assert_left(census: Census, *kinds: str) -> None:
    assert sorted(census.still_held()) == sorted(kinds)
    with pytest.raises(HeldError, match="the test left open"):
        census.check()


def test_census_passes_if_everything_is_released(census: Census) -> None:
    with held.observed(census):
        simulated = Tokens(1, Node("n", "part"), "tokens")
        assert simulated.take_nowait("x")
        simulated.give_back("x")

    census.check()


async def test_held_leases_sockets_and_limits_are_reported(
    autojump_clock: object, census: Census
) -> None:
    with held.observed(census):
        world = simulated_world()
        file = world.directory("/data", create=True).create("log")
        file.append([b"abc"])
        file.lease(3)
        listener = await world.network.listen("", 0)
        await world.network.connect("127.0.0.1", listener.address.port)
        await listener.accept()
        await open_limiter(1, Node("n", "part"), "threads").acquire()

    assert_left(census, "leases", "sockets", "limit threads")


async def test_held_tokens_timers_memory_and_waits_are_reported(
    autojump_clock: object, census: Census
) -> None:
    node = Node("n", "part")
    with held.observed(census):
        tokens, timers = Tokens(1, node, "tokens"), Timers(node)
        purgatory, channel = Purgatory("Fetch", timers, node), RequestChannel(1, node, lambda: 0.0)
        pool = MemoryPool(1, lambda: 0.0)
        assert tokens.take_nowait("x")
        channel.offer(bare_request())
        channel.call_when_room(lambda: None)
        assert pool.take(1)
        pool.wait(Taker(), lambda: None)
        delayed = Delayed(("a",), 9.0, lambda timed_out: None, purgatory=purgatory)
        purgatory.watch(delayed, lambda delayed: None, lambda answer: None)
        await trio.lowlevel.checkpoint()

    assert_left(
        census,
        "handler tokens",
        "timers",
        "operations in purgatory Fetch",
        "waits for room in the request channel",
        "bytes of request memory",
        "waits for request memory",
    )


def test_files_left_by_a_broker_are_reported_even_if_its_machine_has_ended(census: Census) -> None:
    with held.observed(census):
        descriptors = Descriptors(simulated=True)
        with held.given_back("broker-1", descriptors):
            descriptors.files = 1
        descriptors.ended = True

    assert_left(census, "files of broker-1")


def test_tokens_held_on_a_crashed_machine_are_not_reported(census: Census) -> None:
    with held.observed(census):
        descriptors, tokens = Descriptors(simulated=True), Tokens(1, Node("n", "part"), "tokens")
        assert tokens.take_nowait("x")
        assert_left(census, "handler tokens")

        descriptors.ended = True

    census.check()
