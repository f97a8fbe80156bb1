"""Facts of topics: order, sizes, partitions and producers as a broker has them."""

from trio.testing import MockClock

from tests.apis.kit import batch, broker, produce, write
from trio_kafka.errors import LogDirError
from trio_kafka.model import NodeId
from trio_kafka.replication.topic_facts import (
    partition_facts,
    producer_facts,
    ranked_topics,
    topic_facts,
)
from trio_kafka.replication.topic_metrics import TopicMetrics
from trio_kafka.scheduling.chunked_work import step, whole
from trio_kafka.testing.broker import ServedBroker


def order(served: ServedBroker, rates: dict[str, float] | None = None) -> list[str]:
    replicas = served.broker.replicas
    steps = ranked_topics(replicas, lambda name: True, lambda name: (rates or {}).get(name, 0.0))
    return [topic.name for topic in whole(steps)]


async def test_topics_are_ordered_by_trouble_then_traffic_then_name(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        for name in ("d", "c", "b", "a"):
            await served.create_topic(name)
        await served.serve_groups("g")  # creates __consumer_offsets
        by_name = order(served)
        served.broker.replicas.partition("c", 0).fail(LogDirError("/c-0", "EIO"))
        by_trouble = order(served, {"d": 2.0, "b": 1.0})

    assert by_name == ["a", "b", "c", "d", "__consumer_offsets"]
    assert by_trouble == ["c", "d", "b", "a", "__consumer_offsets"]


async def test_topics_that_the_reader_may_not_see_are_left_out(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("a")
        await served.create_topic("b")

        steps = ranked_topics(served.broker.replicas, lambda name: name == "b", lambda name: 0.0)

        assert [topic.name for topic in whole(steps)] == ["b"]


async def test_many_partitions_are_ranked_in_steps(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("a", 200)
        steps = ranked_topics(served.broker.replicas, lambda name: True, lambda name: 0.0)

        count = 1
        while step(steps) is None:
            count += 1

    assert count >= 4


async def test_topic_has_the_sizes_of_the_logs_that_are_led_here(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t", 3)
        await write(served, "t", b"a", b"b")
        await produce(served, "t", batch(b"c"), partition=2)
        replicas = served.broker.replicas
        replicas.partition("t", 1).fail(LogDirError("/t-1", "EIO"))
        image = replicas.image.topics["t"]

        facts = whole(
            topic_facts(image, replicas, NodeId(1), TopicMetrics(bytes_in=7, bytes_out=9), ("g",))
        )

        size = sum(replicas.partition("t", number).log.size for number in (0, 2))
    assert (facts.name, facts.topic_id, facts.internal) == ("t", topic_id.hex(), False)
    assert (facts.partitions, facts.led_here, facts.troubled) == (3, 3, 1)
    assert (facts.records, facts.bytes) == (3, size)
    assert (facts.bytes_in, facts.bytes_out, facts.groups) == (7, 9, ("g",))


async def test_partition_has_leader_epochs_offsets_and_replicas(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        await write(served, "t", b"a", b"b")
        replicas = served.broker.replicas
        replicas.partition("t", 0).log.set_start_offset(1)
        replicas.partition("t", 1).fail(LogDirError("/t-1", "EIO"))

        first, second = whole(partition_facts(replicas.image.topics["t"], replicas, 10))
        cut = whole(partition_facts(replicas.image.topics["t"], replicas, 1))

        size = replicas.partition("t", 0).log.size
    assert (first.leader, first.role, first.error) == (1, "leading", "")
    assert (first.leader_epoch, first.partition_epoch, first.log_epoch) == (0, 0, 0)
    assert (first.start, first.high_watermark, first.end) == (1, 2, 2)
    assert (first.bytes, first.segments) == (size, 1)
    assert first.isr == first.replicas == (1,)
    assert (second.role, "EIO" in second.error) == ("offline", True)
    assert cut == [first]


async def test_partition_without_a_replica_here_has_no_log(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        replicas = served.broker.replicas
        image, replica = replicas.image.topics["t"], replicas.partition("t", 0)
        replicas.remove(replica)
        try:
            (partition,) = whole(partition_facts(image, replicas, 10))
        finally:
            replicas.add(replica)

    assert (partition.role, partition.end, partition.bytes) == ("elsewhere", None, None)
    assert (partition.segments, partition.log_epoch) == (None, None)


async def test_producers_that_wrote_last_are_listed_first_and_all_are_counted(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        for producer_id, partition in ((7, 0), (8, 1), (9, 0)):
            records = batch(
                b"x",
                timestamp=1_700_000_000_000 + producer_id,
                producer_id=producer_id,
                producer_epoch=producer_id - 5,
                base_sequence=0,
            )
            assert (await produce(served, "t", records, partition=partition)).error_code == 0
        replicas = served.broker.replicas

        producers, total = whole(producer_facts(replicas.image.topics["t"], replicas, 2))

    assert total == 3
    assert [(each.producer_id, each.partition, each.epoch) for each in producers] == [
        (9, 0, 4),
        (8, 1, 3),
    ]
    assert producers[0].last_sequence == 0
    assert producers[0].transaction_start is None
    assert producers[0].ago_s >= 0
