"""The consumer: positions, groups, commits."""

import pytest
import trio

from trio_kafka.clients.settings.reset import LATEST
from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers.history import CommitFound, Positioned, Read
from trio_kafka.testing.simulate import simulate

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


async def fill(sim, partitions=2, count=4):
    await sim.kafka.create_topic("t", partitions)
    async with sim.producer() as producer:
        for number in range(count):
            await producer.send("t", b"%d" % number, partition=number % partitions)


@simulate(seeds=2)
async def test_consumer_reads_all_partitions_from_their_start(sim):
    await fill(sim)

    async with sim.consumer("t", name="c") as consumer:
        records = await consumer.poll()

        assert sorted(record.value for record in records) == [b"0", b"1", b"2", b"3"]
        assert consumer.positions == {T0: 2, T1: 2}
        assert await consumer.poll(0.1) == []
    assert [record.offset for record in sim.history.of(Positioned)] == [0, 0]
    assert {event.consumer for event in sim.history.of(Read)} == {"c"}


@simulate(seeds=2)
async def test_poll_returns_as_soon_as_a_record_is_produced(sim):
    await fill(sim, partitions=1)
    async with sim.consumer(partitions=[T0], start=LATEST) as consumer:
        await consumer.poll(0.0)
        begin = trio.current_time()
        async with sim.producer() as producer, trio.open_nursery() as nursery:
            nursery.start_soon(producer.send, "t", b"new")

            (result,) = await consumer.poll(60.0)

        assert (result.value, result.offset) == (b"new", 4)
        assert trio.current_time() - begin < 1


@simulate(seeds=2)
async def test_consumer_reads_from_the_offset_of_a_seek_and_resets_an_offset_out_of_range(sim):
    await fill(sim, partitions=1)
    async with sim.consumer(partitions=[T0]) as consumer:
        await consumer.seek("t", 0, 3)
        assert [record.offset for record in await consumer.poll()] == [3]

        await consumer.seek("t", 0, 99)
        assert [record.offset for record in await consumer.poll(5.0)] == [0, 1, 2, 3]


@simulate(seeds=3)
async def test_members_of_a_group_share_the_partitions_and_take_over(sim):
    await fill(sim)
    second = sim.consumer("t", group="g")
    async with second:
        async with sim.consumer("t", group="g") as first:
            while not (first.positions and second.positions and len(first.positions) == 1):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(first.poll, 0.1)
                    nursery.start_soon(second.poll, 0.1)
            assert {*first.positions, *second.positions} == {T0, T1}

        while len(second.positions) < 2:
            await second.poll(0.5)


@simulate(seeds=3)
async def test_a_member_continues_at_the_committed_offset(sim):
    await fill(sim, partitions=1)
    async with sim.consumer("t", group="g") as first:
        while not await first.poll():
            pass
        assert await first.commit()
        assert await first.commit()  # nothing is due
    await sim.lives.kill(power=True, kept=0.0)
    await sim.kafka.start()

    async with sim.consumer("t", group="g") as second:
        while not second.positions:
            assert await second.poll(0.1) == []
        assert second.positions == {T0: 4}
    async with sim.consumer(partitions=[T0], group="g") as auditor:
        assert await auditor.committed() == {T0: 4}
    assert [record.offset for record in sim.history.of(CommitFound)] == [-1, 4, 4]
    assert [record.offset for record in sim.history.of(Positioned)] == [0, 4]
    await sim.check()


@simulate(seeds=2)
async def test_a_commit_of_a_member_that_was_removed_is_refused(sim):
    await fill(sim, partitions=1)
    async with sim.consumer("t", group="g", session_s=6.0) as member:
        while not await member.poll():
            pass
        sim.universe.cut("kafka", "clients")
        await trio.sleep(10)
        sim.universe.heal("kafka", "clients")

        assert not await member.commit()

        records = []
        while not records:
            records = await member.poll()
        assert len(records) == 4  # it has joined again, and begins anew
        assert await member.commit()
    await sim.check()


@simulate(seeds=1)
async def test_wrong_arguments_of_a_consumer_are_refused(sim):
    with pytest.raises(ValueError, match="want topics or partitions, and not both"):
        sim.consumer()
    with pytest.raises(ValueError, match="start=7: want EARLIEST or LATEST"):
        sim.consumer("t", start=7)
    async with sim.consumer("t") as consumer:
        with pytest.raises(ValueError, match="no group"):
            await consumer.commit()
        with pytest.raises(ValueError, match="no group"):
            await consumer.committed()
