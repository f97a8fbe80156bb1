"""Groups of KIP-848 with members of ours, against the broker in virtual time."""

import pytest
import trio

from tests.clients.consumer.groups.kit import wait_assigned
from tests.clients.consumer.kit import T0, T1, consumer_of, read, values
from trio_kafka.clients import RebalanceListener
from trio_kafka.clients.errors import CommitFailedError
from trio_kafka.testing.simulate import simulate

GROUP = {"group_id": "g", "group_protocol": "consumer"}


@simulate(seeds=2)
async def test_second_member_takes_over_a_partition_behind_the_committed_offset(sim):
    await sim.kafka.create_topic("t", 2)
    log = []

    def hooks(name):
        async def revoked(partitions):
            log.append((name, "revoked", list(partitions)))

        async def assigned(partitions):
            log.append((name, "assigned", list(partitions)))

        return RebalanceListener(on_revoked=revoked, on_assigned=assigned)

    async with consumer_of(sim, **GROUP) as first, consumer_of(sim, **GROUP) as second:
        first.subscribe(["t"], listener=hooks("first"))
        await wait_assigned(first, 2)
        await sim.kafka.produce("t", *[b"%d" % n for n in range(10)])
        seen = values(await read(first, 10))
        second.subscribe(["t"], listener=hooks("second"))
        with trio.fail_after(60):
            while len(second.assignment) != 1:
                seen += values(await first.poll(0.1))
                seen += values(await second.poll(0.1))
        await sim.kafka.produce("t", *[b"%d" % n for n in range(10, 20)])
        with trio.fail_after(60):
            while len(seen) < 20:
                seen += values(await first.poll(0.1)) + values(await second.poll(0.1))
        assert first.assignment | second.assignment == {T0, T1}

    assert sorted(seen, key=int) == [b"%d" % n for n in range(20)]
    assert log[0] == ("first", "assigned", [T0, T1])
    assert {entry[:2] for entry in log[1:3]} >= {("first", "revoked")}


@simulate(seeds=1)
async def test_member_that_does_not_come_back_in_time_loses_its_partitions_and_joins_again(sim):
    await sim.kafka.create_topic("t")
    lost = []

    async def on_lost(partitions):
        lost.extend(partitions)

    async with consumer_of(sim, **GROUP, max_poll_interval_ms=10_000) as consumer:
        consumer.subscribe(["t"], listener=RebalanceListener(on_lost=on_lost))
        await wait_assigned(consumer, 1)
        await sim.kafka.produce("t", b"a")
        assert values(await read(consumer, 1)) == [b"a"]
        await trio.sleep(11.0)
        assert not (await sim.kafka.group("g")).members
        with pytest.raises(CommitFailedError):
            await consumer.commit()
        assert values(await read(consumer, 1)) == [b"a"]
        assert lost == [T0]


@simulate(seeds=1)
async def test_member_leaves_its_group_when_its_block_is_cancelled(sim):
    await sim.kafka.create_topic("t")

    with trio.CancelScope() as scope:
        async with consumer_of(sim, **GROUP) as consumer:
            consumer.subscribe(["t"])
            await wait_assigned(consumer, 1)
            scope.cancel()
            await consumer.poll(1.0)

    assert not (await sim.kafka.group("g")).members


@pytest.mark.slow
@simulate(seeds=1)
async def test_member_that_is_closed_while_it_joins_leaves_no_member_behind(sim):
    await sim.kafka.create_topic("t")

    for step in range(8):
        group = {**GROUP, "group_id": f"g{step}"}
        async with consumer_of(sim, **group) as leaving:
            leaving.subscribe(["t"])
            await trio.sleep(step / 2000)
        async with consumer_of(sim, **group) as other:
            other.subscribe(["t"])
            with trio.fail_after(20):
                await wait_assigned(other, 1)


@simulate(seeds=2)
async def test_member_that_expires_while_a_heartbeat_is_not_answered_joins_again(sim):
    await sim.kafka.create_topic("t")
    async with consumer_of(sim, **GROUP, max_poll_interval_ms=7000) as consumer:
        consumer.subscribe(["t"])
        await wait_assigned(consumer, 1)
        sim.universe.cut("kafka", "clients", one_way=True)
        await trio.sleep(9)  # a heartbeat is in flight when the time of the reader is over
        sim.universe.heal("kafka", "clients")

        with trio.fail_after(60):
            await consumer.poll(0.1)
            await wait_assigned(consumer, 1)
            await sim.kafka.produce("t", b"v")
            assert values(await read(consumer, 1)) == [b"v"]
