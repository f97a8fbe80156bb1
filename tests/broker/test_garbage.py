"""Requests leave no cycles behind: what they are made of goes with the last reference.

The broker freezes what lives long, so a cycle that a look came upon would stay for hours.
"""

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random

import trio
from trio.testing import MockClock

from tests.apis.classic import join, stable_group
from tests.e2e.frames import TOPICS, Speaker, request_classes
from tests.e2e.fuzz import error_codes
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import EPOCH

SETTINGS = {"num.partitions": "2", "socket.request.max.bytes": "1048576"}
ROUNDS = 1700
EXPECTED = {  # errors that some request must have had, for the test to be worth its name
    "INVALID_CONFIG",
    "INVALID_PARTITIONS",
    "INVALID_RECORD",
    "INVALID_REQUEST",
    "INVALID_TOPIC_EXCEPTION",
    "INVALID_UPDATE_VERSION",
    "FETCH_SESSION_ID_NOT_FOUND",
    "OFFSET_OUT_OF_RANGE",
    "TOPIC_ALREADY_EXISTS",
    "UNKNOWN_TOPIC_ID",
    "UNKNOWN_TOPIC_OR_PARTITION",
}
# Two ends of a simulated connection know each other; classes are built when they are first used.
NOT_OF_REQUESTS = {"MemorySocket", "Endpoint", "Field"}


@contextmanager
def garbage() -> Iterator[Counter[str]]:
    """By type: objects of ours that only the collector would free, made within the block."""
    counts: Counter[str] = Counter()
    gc.collect()
    gc.disable()
    gc.freeze()
    try:
        yield counts
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        counts.update(type(item).__qualname__ for item in gc.garbage if is_ours(type(item)))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.unfreeze()
        gc.enable()


def is_ours(kind: type) -> bool:
    return kind.__module__.startswith("trio_kafka") and kind.__qualname__ not in NOT_OF_REQUESTS


async def speak(served: ServedBroker, seed: int, rounds: int) -> Counter[str]:
    """Requests of all kinds, each on a connection of its own; the errors that came."""
    versions = (await served.ask(ApiVersionsRequest(), 0)).api_keys
    ranges = {version.api_key: (version.min_version, version.max_version) for version in versions}
    ranges = {key: ranges[key] for key in ranges.keys() & request_classes().keys()}
    chance = Random(seed)
    errors: Counter[str] = Counter()
    for _ in range(rounds):
        ids = [topic.id for topic in served.broker.metadata.image.topics.values()]
        speaker = Speaker(chance, ids, int(EPOCH * 1000))
        key = chance.choice(list(ranges))
        first, last = ranges[key]
        sent = speaker.say(key, chance.randint(max(first, 3 * (key == 0)), last), 1)
        async with served.connect() as client:
            with suppress(EOFError, ConnectionError):  # Produce without acks
                await client.send(sent.data)
                if sent.answered:
                    with trio.fail_after(60):
                        answer = sent.read(await client.receive_frame())
                    errors.update(ErrorCode(code).name for code in error_codes(answer))
    return errors


async def test_life_of_a_group_creates_no_garbage_cycles(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world(), SETTINGS) as served:
        await stable_group(served, group="before")  # what is imported and compiled stays
        await trio.sleep(60)
        await served.serve_groups("g")
        with garbage() as counts:
            await stable_group(served)
            await stable_group(served, instance="i")
            await join(served, instance="i")  # back under another id
            await trio.sleep(60)  # nobody is heard: it is empty again
            assert not (await served.ask(DeleteGroupsRequest(["g"]))).results[0].error_code

    assert not counts


async def test_requests_and_their_errors_create_no_garbage_cycles(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world(), SETTINGS) as served:
        for name in TOPICS[:6]:
            await served.create_topic(name, 2)
        with garbage() as counts:
            errors = await speak(served, 1, ROUNDS)
            await trio.sleep(3600)  # deleted logs are removed, sessions are idle

    print(errors)
    assert not counts
    assert errors.keys() >= EXPECTED
