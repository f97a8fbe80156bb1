"""Waits of fetches: for bytes, or for reads from the disk."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import batch, fetch_request, produce_request
from tests.introspect.waiting import chain, waiting
from tests.replication.kit import PEER, make_cold
from tests.replication.leader.test_fetch import Broker
from trio_kafka.replication.leader.read import Isolation
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.world.world import World


async def test_fetch_waits_for_bytes_of_its_partition_until_its_longest_wait(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("rare")
        records = batch(*[b"x"] * 12)
        await waits.served.ask(produce_request(topic, (0, records)))
        await waits.ask(fetch_request(topic, 0, max_wait_ms=30_000, min_bytes=100_000))

        (wait,) = await waits.why("Fetch")

    assert chain((wait,)) == [("bytes", "partition", "rare-0")]
    assert wait.words == f"{len(records)} of 100,000 bytes from rare-0"
    assert (wait.has, wait.needs, wait.unit) == (len(records), 100_000, "bytes")
    assert (wait.age_s, wait.left_s) == (pytest.approx(1, 0.1), pytest.approx(29, 0.1))
    assert wait.then == "it is answered with what is there"


async def test_fetch_of_many_partitions_names_their_topics(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("wide", 300)
        await waits.ask(fetch_request(topic, *[0] * 300, max_wait_ms=30_000))

        (wait,) = await waits.why("Fetch")

    assert chain((wait,)) == [("bytes", "topic", "wide")]
    assert wait.words == "0 of 1 bytes from topic wide, 300 partitions"


async def test_fetch_of_records_that_are_not_in_memory_waits_for_a_read(world: World) -> None:
    broker = Broker(world, 2)
    broker.produce(1)
    make_cold(broker.partitions["t", 1])
    fetch = broker.fetch(max_wait_s=1)
    assert whole(fetch.look()) is None

    (wait,) = fetch.waits(0)

    assert chain((wait,)) == [("read", "partition", "t-1")]
    assert wait.words == "a read from the disk of t-1"


async def test_fetch_of_a_follower_names_the_broker(world: World) -> None:
    broker = Broker(world, 1, 1, 2)
    fetch = broker.fetch(follower=PEER, isolation=Isolation.LOG_END, min_bytes=10)
    assert whole(fetch.look()) is None

    (wait,) = fetch.waits(0)

    assert wait.words == "0 of 10 bytes from t-0 for broker 2"


async def test_fetch_counts_bytes_that_came_after_it_was_parked(world: World) -> None:
    broker = Broker(world, 2)
    fetch = broker.fetch(min_bytes=10_000)
    assert whole(fetch.look()) is None
    size = broker.produce(1)
    assert not fetch.is_due(timed_out=False)

    (wait,) = fetch.waits(0)

    assert (wait.has, wait.needs) == (size, 10_000)
    assert wait.words == f"{size} of 10,000 bytes from topic t, 2 partitions"
