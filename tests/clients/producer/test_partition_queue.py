"""Batches of one partition in order."""

from trio_kafka.clients.errors import ClientError
from trio_kafka.clients.producer.batch import Failed, ProducerBatch
from trio_kafka.clients.producer.partition_queue import PartitionQueue
from trio_kafka.clients.producer.sequences import Identities, Identity, PartitionSequences
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import Record

PLACE = TopicPartition("t", 0)


def batch_of(*order, expires=9.0):
    batch = ProducerBatch(place=PLACE, order=order, created=0.0, expires=expires)
    batch.add(Record(-1, 1, None, b"v"), 20)
    return batch


def queue_of(*batches, sequences=None, in_turn=False):
    queue = PartitionQueue(place=PLACE, sequences=sequences, in_turn=in_turn)
    queue.waiting.extend(batches)
    return queue


def test_batches_that_are_put_back_take_their_old_places():
    first, second, third = batch_of(1), batch_of(2), batch_of(3)
    queue = queue_of(first, second, third)
    for batch in (first, second):
        queue.take(batch)
    for batch in (second, first):
        queue.landed(batch)
        queue.put_back(batch)

    assert list(queue.waiting) == [first, second, third]


def test_parts_take_the_place_of_their_batch():
    second = batch_of(2)
    parts = [batch_of(1, 0), batch_of(1, 1)]
    queue = queue_of(second)
    queue.put_back(*parts)

    assert list(queue.waiting) == [*parts, second]


def test_batch_whose_fate_is_open_goes_before_those_that_need_a_new_number():
    sequences = PartitionSequences(Identities(Identity(7, 0)))
    first = batch_of(1)
    queue = queue_of(first, sequences=sequences)
    queue.take(first)
    queue.landed(first)
    sequences.stored(first)
    failed, early, late = batch_of(2), batch_of(3), batch_of(4)
    queue.waiting.extend([failed, early, late])
    for batch in (failed, early, late):
        assert queue.next_batch() is batch
        queue.take(batch)
    queue.landed(failed)
    sequences.failed(failed)
    for batch in (early, late):
        queue.landed(batch)
        queue.put_back(batch)
    early.needs_sequence = True

    assert queue.next_batch() is late
    late.needs_sequence = True
    assert queue.next_batch() is early
    queue.take(early)
    assert early.producer is not None
    assert (early.producer.producer_epoch, early.producer.base_sequence) == (1, 0)


def test_time_of_batches_in_flight_and_waiting_is_watched():
    first, second = batch_of(1, expires=5.0), batch_of(2, expires=7.0)
    queue = queue_of(first, second)
    queue.take(first)

    assert queue.next_expiry() == 5.0
    assert queue.expired(6.0) == [first]
    first.finish(Failed(error=ClientError("late")))
    assert queue.next_expiry() == 7.0
    assert queue.expired(7.0) == [second]
    assert not queue.is_empty
