"""A task for each partition, over rebalances."""

import pytest
import trio

from tests.clients.consumer.kit import T0, T1, consumer_of
from tests.clients.producer.kit import producer_of, record
from trio_kafka.errors import leaves
from trio_kafka.testing.simulate import simulate

GROUP = {"group_id": "g", "group_protocol": "consumer"}


@simulate(seeds=2)
async def test_each_partition_is_read_by_its_own_task_and_processed_records_are_committed(sim):
    await sim.kafka.create_topic("t", 2)
    await sim.kafka.produce("t", *[b"%d" % n for n in range(20)])
    seen = {}

    async def handle(stream):
        async for records in stream:
            seen.setdefault(stream.at, []).extend(record.value for record in records)
            if sum(map(len, seen.values())) == 20:
                done.set()

    done = trio.Event()
    async with consumer_of(sim, **GROUP, auto_commit_interval_ms=100) as consumer:
        consumer.subscribe(["t"])
        async with consumer.partitions() as streams, trio.open_nursery() as nursery:
            nursery.start_soon(streams.run, handle)
            await done.wait()
            await trio.sleep(1.0)
            committed = await consumer.committed([T0, T1])
            nursery.cancel_scope.cancel()

    assert {at: len(rows) for at, rows in seen.items()} == {
        at: offset.offset for at, offset in committed.items()
    }


@simulate(seeds=2)
async def test_task_of_a_revoked_partition_ends_after_its_hook_has_committed(sim):
    await sim.kafka.create_topic("t", 2)
    await sim.kafka.produce("t", *[b"%d" % n for n in range(20)])
    log = []

    async def handle(stream):
        try:
            async for records in stream:
                log.append(("read", stream.at, len(records)))
                await trio.sleep(2.0)
        finally:
            log.append(("ended", stream.at))

    async def before_revoke(stream):
        await stream.commit()
        log.append(("committed", stream.at))

    async with (
        consumer_of(sim, **GROUP, enable_auto_commit=False) as first,
        consumer_of(sim, **GROUP) as second,
        trio.open_nursery() as nursery,
    ):
        first.subscribe(["t"])

        async def run_first():
            async with first.partitions() as streams:
                await streams.run(handle, before_revoke=before_revoke)

        nursery.start_soon(run_first)
        while sum(entry[0] == "read" for entry in log) < 2:
            await trio.sleep(0.1)
        second.subscribe(["t"])
        with trio.fail_after(60):
            while not second.assignment:
                await second.poll(0.1)
        moved = next(iter(second.assignment))
        assert log.index(("committed", moved)) < log.index(("ended", moved))
        assert await second.position(moved) > 0
        kept = next(iter(first.assignment))
        assert ("ended", kept) not in log
        nursery.cancel_scope.cancel()


@simulate(seeds=1)
async def test_partition_whose_task_is_slow_does_not_keep_others_from_being_read(sim):
    await sim.kafka.create_topic("t", 2)
    seen = []

    async def handle(stream):
        async for records in stream:
            if stream.at == T0:
                await trio.sleep_forever()
            seen.extend(records)

    async with consumer_of(sim, fetch_max_bytes=2000, max_partition_fetch_bytes=1000) as consumer:
        consumer.assign([T0, T1])
        async with consumer.partitions() as streams, trio.open_nursery() as nursery:
            nursery.start_soon(streams.run, handle)
            for _ in range(40):
                await sim.kafka.produce("t", *[bytes(500) for _ in range(4)])
                await trio.sleep(0.2)
            ends = await consumer.end_offsets([T1])
            with trio.fail_after(30):
                while len(seen) < ends[T1]:
                    await trio.sleep(0.1)
            assert consumer.positions.buffered <= 4000
            nursery.cancel_scope.cancel()


@simulate(seeds=1)
async def test_exception_of_a_task_ends_all_tasks_and_is_raised(sim):
    await sim.kafka.create_topic("t", 2)
    await sim.kafka.produce("t", b"a")

    async def handle(stream):
        async for _ in stream:
            raise LookupError("mine")

    async with consumer_of(sim) as consumer:
        consumer.assign([T0, T1])
        with pytest.raises(ExceptionGroup) as caught:
            async with consumer.partitions() as streams:
                await streams.run(handle)
    assert [type(error) for error in leaves(caught.value)] == [LookupError]


@simulate(seeds=1)
async def test_stream_that_is_left_before_its_first_records_are_processed_commits_its_start(sim):
    """The next owner reads again what was handed out, but not what was processed."""
    await sim.kafka.create_topic("t", 2)
    async with producer_of(sim) as producer:
        for number in range(12):
            await producer.send(record(b"x", partition=number % 2))
    received = dict.fromkeys((T0, T1), 0)

    async def handle(stream):
        async for records in stream:
            received[stream.at] += len(records)
            if stream.at == T0 or received[stream.at] == 6:
                await trio.sleep_forever()

    async with consumer_of(sim, **GROUP, max_poll_records=3) as consumer:
        consumer.subscribe(["t"])
        async with consumer.partitions() as streams, trio.open_nursery() as nursery:
            nursery.start_soon(streams.run, handle)
            while received != {T0: 3, T1: 6}:
                await trio.sleep(0.1)
            processed = {at: position.offset for at, position in streams.processed().items()}
            assert processed == {T0: 0, T1: 3}
            nursery.cancel_scope.cancel()
        assert await consumer.position(T0) == 0

    async with consumer_of(sim, **GROUP) as consumer:
        committed = await consumer.committed([T0, T1])
    assert {at: offset.offset for at, offset in committed.items()} == {T0: 0, T1: 3}
