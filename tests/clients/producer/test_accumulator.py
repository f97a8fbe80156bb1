"""The accumulator: when batches are due, what a request takes, memory."""

import pytest

from trio_kafka.clients.errors import ClosedError
from trio_kafka.clients.producer.accumulator import Accumulator, BatchLimits
from trio_kafka.clients.producer.batch import OBJECT_BYTES, Failed, Stored
from trio_kafka.clients.producer.buffer_pool import BufferPool
from trio_kafka.clients.producer.columns import RecordColumns
from trio_kafka.records.batch import Record
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import HEADER_SIZE

NEVER = float("inf")


def accumulator_of(*, size=100, linger_s=5.0, in_turn=False, codec=Codec.NONE, memory=10_000):
    limits = BatchLimits(
        size=HEADER_SIZE + size, linger_s=linger_s, expires_s=60.0, in_turn=in_turn, codec=codec
    )
    return Accumulator(limits=limits, pool=BufferPool(memory), identities=None)


def add(accumulator, partition=0, *, size=40, now=0.0, topic="t"):
    assert accumulator.pool.try_take(size + OBJECT_BYTES)
    queue = accumulator.queue_of(topic, partition)
    return accumulator.add(queue, Record(-1, 1, None, bytes(size - 14)), size, now)[0]


def look(accumulator, now=0.0, leaders=lambda topic, partition: 1):
    return accumulator.look(now, leaders)


def end(accumulator):
    accumulator.fail_all(lambda batch: ClosedError("end"))
    assert accumulator.pool.free == accumulator.pool.total


def test_batch_is_due_when_its_first_record_is_as_old_as_linger():
    accumulator = accumulator_of()
    add(accumulator, now=1.0)
    add(accumulator, now=3.0)

    assert look(accumulator, 5.9).by_node == {}
    assert look(accumulator, 5.9).next_look == 6.0
    assert list(look(accumulator, 6.0).by_node) == [1]
    end(accumulator)


def test_full_batch_is_due_at_once_and_the_one_behind_it_is_not():
    accumulator = accumulator_of()
    batches = [add(accumulator) for _ in range(3)]
    assert batches[0] is batches[1] is not batches[2]

    (queue,) = look(accumulator).by_node[1]
    (batch,) = accumulator.drain([queue], 1000)

    assert batch is batches[0]
    assert look(accumulator).by_node == {}
    accumulator.landed(batch)
    accumulator.finish(batch, Stored())
    end(accumulator)


def test_many_records_fill_the_open_batch_and_then_others_which_are_due_when_full():
    accumulator = accumulator_of()
    first = add(accumulator)
    queue = accumulator.queue_of("t", 0)
    columns = RecordColumns(values=[bytes(16)] * 6, keys=None, bounds=[30] * 6, timestamp_ms=1)
    assert accumulator.pool.try_take(180)

    at, parts = 0, []
    while at < 6:
        batch, number, count = accumulator.add_many(queue, columns, at, 0.0)
        parts.append((number, count, batch.size, batch.is_full))
        at += count

    assert parts == [(1, 2, 100, True), (0, 3, 90, True), (0, 1, 30, False)]
    assert [batch.count for batch in queue.waiting] == [3, 3, 1]
    assert queue.waiting[0] is first
    assert add(accumulator) is queue.waiting[-1]
    end(accumulator)


def test_record_of_many_above_the_size_has_a_batch_of_its_own():
    accumulator = accumulator_of()
    columns = RecordColumns(values=[bytes(500)] * 2, keys=None, bounds=[514] * 2, timestamp_ms=1)
    assert accumulator.pool.try_take(1028)

    queue = accumulator.queue_of("t", 0)
    added = [accumulator.add_many(queue, columns, at, 0.0)[1:] for at in (0, 1)]

    assert added == [(0, 1), (0, 1)]
    assert all(batch.is_full for batch in queue.waiting)
    end(accumulator)


def test_all_batches_are_due_while_records_wait_for_memory_or_a_flush():
    accumulator = accumulator_of(memory=200)
    add(accumulator)
    assert not look(accumulator).by_node
    accumulator.flushes += 1
    assert look(accumulator).by_node
    accumulator.flushes -= 1
    wait = accumulator.pool.wait(150, lambda: None)
    assert look(accumulator).by_node
    accumulator.pool.withdraw(wait)
    assert not look(accumulator).by_node
    accumulator.is_closing = True
    assert look(accumulator).by_node
    end(accumulator)


def test_due_batch_without_a_leader_names_its_topic_and_others_go_on():
    accumulator = accumulator_of(linger_s=0.0)
    add(accumulator, 0)
    add(accumulator, 0, topic="u")

    ready = look(accumulator, leaders=lambda topic, _: None if topic == "u" else 1)

    assert ready.leaderless == {"u"}
    assert [queue.place.topic for queue in ready.by_node[1]] == ["t"]
    end(accumulator)


def test_partitions_of_a_node_go_together_as_soon_as_one_is_due():
    accumulator = accumulator_of()
    add(accumulator, 0, now=0.0)
    add(accumulator, 1, now=4.0)
    add(accumulator, 2, now=4.0)

    ready = look(accumulator, 5.0, leaders=lambda _, partition: partition // 2)

    assert list(ready.by_node) == [0]
    assert [queue.place.partition for queue in ready.by_node[0]] == [0, 1]
    end(accumulator)


def test_request_takes_one_batch_of_each_partition_up_to_its_size_and_begins_elsewhere_next():
    accumulator = accumulator_of(size=40, linger_s=0.0)
    for _ in range(3):
        for partition in range(3):
            add(accumulator, partition)
    taken = []
    for _ in range(4):
        queues = look(accumulator).by_node[1]
        batches = accumulator.drain(queues, 90 + 2 * HEADER_SIZE)
        taken.append([batch.place.partition for batch in batches])

    assert taken[0] == [0, 1]
    assert all(len(set(partitions)) == len(partitions) for partitions in taken)
    assert {partitions[0] for partitions in taken[:3]} == {0, 1, 2}
    end_in_flight(accumulator)


def test_partition_that_is_left_out_goes_first_however_many_others_come_and_go():
    accumulator = accumulator_of(size=40, linger_s=0.0)
    for _ in range(5):
        for partition in range(3):
            add(accumulator, partition)
    queues = look(accumulator).by_node[1]

    taken = [accumulator.drain(queues[:count], 50) for count in (3, 2, 3, 2, 3)]

    assert [batch.place.partition for (batch,) in taken] == [0, 1, 2, 0, 1]
    end_in_flight(accumulator)


def end_in_flight(accumulator):
    batches = list(accumulator.incomplete())
    accumulator.fail_all(lambda batch: ClosedError("end"))
    for batch in batches:
        if batch.in_flight:
            assert not accumulator.landed(batch)
    assert accumulator.pool.free == accumulator.pool.total
    assert not accumulator.is_active


def test_batch_above_the_request_size_goes_alone():
    accumulator = accumulator_of(size=40, linger_s=0.0)
    add(accumulator, 0, size=400)
    add(accumulator, 1, size=400)

    assert len(accumulator.drain(look(accumulator).by_node[1], 100)) == 1
    end_in_flight(accumulator)


def test_partition_in_turn_has_one_batch_in_flight():
    accumulator = accumulator_of(size=40, linger_s=0.0, in_turn=True)
    add(accumulator)
    add(accumulator)
    (batch,) = accumulator.drain(look(accumulator).by_node[1], 1000)

    assert not look(accumulator).by_node
    accumulator.landed(batch)
    accumulator.retry(batch, 3.0)
    assert not look(accumulator, 2.9).by_node
    assert look(accumulator, 2.9).next_look == 3.0
    (again,) = accumulator.drain(look(accumulator, 3.0).by_node[1], 1000)
    assert again is batch
    end_in_flight(accumulator)


def test_memory_of_a_batch_in_flight_is_kept_until_its_answer():
    accumulator = accumulator_of(linger_s=0.0)
    batch = add(accumulator)
    accumulator.drain(look(accumulator).by_node[1], 1000)

    assert accumulator.expired(60.0) == [batch]
    accumulator.finish(batch, Failed(error=ClosedError("late")))
    assert accumulator.expired(60.0) == []
    assert accumulator.pool.free < accumulator.pool.total
    assert not accumulator.landed(batch)
    assert accumulator.pool.free == accumulator.pool.total


def test_partition_that_is_not_admitted_waits():
    accumulator = accumulator_of(linger_s=0.0)
    add(accumulator)
    accumulator.admits = lambda place: False

    assert not look(accumulator).by_node
    accumulator.admits = lambda place: True
    assert look(accumulator).by_node
    end(accumulator)


@pytest.mark.parametrize(("size", "count"), [(HEADER_SIZE + 80, 2), (HEADER_SIZE + 79, 1), (0, 1)])
def test_header_of_a_batch_counts_in_its_size_and_one_record_always_fits(size, count):
    accumulator = accumulator_of(size=size - HEADER_SIZE)
    batch = add(accumulator)
    add(accumulator)

    assert batch.count == count
    assert batch.is_full
    end(accumulator)


def test_well_compressed_batches_take_more_records():
    accumulator = accumulator_of(size=1000, codec=Codec.LZ4, memory=1 << 20)

    def records_of_a_batch():
        first = add(accumulator)
        count = 1
        while not first.is_full:
            add(accumulator)
            count += 1
        (batch,) = accumulator.drain(look(accumulator, NEVER).by_node[1], 1 << 20)
        accumulator.close_batch(batch)
        accumulator.landed(batch)
        accumulator.finish(batch, Stored())
        return count

    counts = [records_of_a_batch() for _ in range(60)]
    assert counts[0] == 24
    assert counts[-1] > 30
    end(accumulator)


def test_counts_show_what_waits_and_what_is_in_flight():
    accumulator = accumulator_of(size=40, linger_s=0.0)
    add(accumulator)
    add(accumulator)
    accumulator.drain(look(accumulator).by_node[1], 1000)

    assert accumulator.counts() == (1, 1)
    assert (accumulator.queued("t", 0), accumulator.queued("t", 1)) == (1, 0)
    assert pytest.approx(60.0) == look(accumulator).next_look
    end_in_flight(accumulator)
