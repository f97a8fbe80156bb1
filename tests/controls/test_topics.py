"""Topics are created, deleted and described."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.testing.kafka.in_loop import kafka_in_loop
from trio_kafka.testing.kafka.life import LifeSettings
from trio_kafka.testing.kafka.machines import SimulatedMachine
from trio_kafka.testing.kafka.threaded import running_broker
from trio_kafka.world.simulated import Universe


def test_producing_to_a_missing_topic_creates_the_topic(kafka):
    kafka.produce("new", b"a")
    assert kafka.topics() == ["new", "orders"]
    assert kafka.topic("new").offsets == {0: (0, 1)}
    kafka.delete_topic("new")
    assert kafka.topics() == ["orders"]


def test_delete_records_deletes_the_records_before_an_offset(kafka):
    kafka.produce("new", b"a", b"b", b"c")

    assert kafka.delete_records("new", before=2) == {0: 2}
    assert [record.value for record in kafka.records("new")] == [b"c"]

    assert kafka.delete_records("new", partition=0) == {0: 3}
    assert kafka.records("new") == []
    kafka.delete_topic("new")


def test_threads_produce_concurrently_to_a_missing_topic(kafka):
    texts = [str(number) for number in range(8)]
    with ThreadPoolExecutor(len(texts)) as pool:
        for job in [pool.submit(kafka.produce, "new", text) for text in texts]:
            assert len(job.result()) == 1
    assert sorted(record.text for record in kafka.records("new")) == texts


def test_tasks_produce_concurrently_to_a_missing_topic(kafka):
    async def both():
        await asyncio.gather(kafka.aio.produce("new", "a"), kafka.aio.produce("new", "b"))
        return await kafka.aio.records("new")

    assert sorted(record.text for record in asyncio.run(both())) == ["a", "b"]


@pytest.mark.parametrize("seed", range(5))
def test_waiting_for_records_survives_creation_and_deletion_of_the_topic(seed):
    async def main(universe):
        how = LifeSettings(settings={"num.partitions": "3"})
        async with kafka_in_loop(SimulatedMachine(universe=universe), how) as kafka:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(kafka.wait_for_records, "new", 6)
                nursery.start_soon(kafka.groups)
                for _ in range(3):
                    await kafka.produce("new", "a")
                    await kafka.delete_topic("new")
                await kafka.produce("new", *"abcdef")
            return len(await kafka.records("new"))

    assert Universe(seed).run(main) == 6


def test_exist_ok_accepts_an_existing_topic_with_the_same_partition_count_only(kafka):
    kafka.create_topic("orders", 3, exist_ok=True)
    with pytest.raises(KafkaError, match="orders has 3 partitions, not 2"):
        kafka.create_topic("orders", 2, exist_ok=True)
    with pytest.raises(KafkaError, match="topic orders exists"):
        kafka.create_topic("orders", 3)
    with pytest.raises(KafkaError) as refused:
        kafka.create_topic("a b", exist_ok=True)
    assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_running_broker_accepts_the_existing_topics_of_a_reused_directory(tmp_path):
    for number in (1, 2):
        with running_broker(topics={"orders": 2}, directory=str(tmp_path)) as kafka:
            kafka.produce("orders", "a")
            assert len(kafka.records("orders")) == number
