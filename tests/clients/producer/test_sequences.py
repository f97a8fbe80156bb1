"""Sequence numbers: what may be sent, and what a failure changes. See also test_delivery."""

import pytest

from trio_kafka.clients.producer.batch import ProducerBatch
from trio_kafka.clients.producer.sequences import Identities, Identity, PartitionSequences
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import Record

PLACE = TopicPartition("t", 0)


def batch_of(count=2):
    batch = ProducerBatch(place=PLACE, order=(1,), created=0.0, expires=9.0)
    for _ in range(count):
        batch.add(Record(-1, 1, None, b"v"), 20)
    return batch


def begun(identities=None):
    """Sequences whose producer id the broker knows."""
    sequences = PartitionSequences(identities or Identities(Identity(7, 0)))
    first = sent(sequences, batch_of())
    sequences.stored(first)
    return sequences


def sent(sequences, batch):
    assert sequences.may_send(batch)
    sequences.number(batch)
    return batch


def numbers(batch):
    fields = batch.producer
    return fields.producer_id, fields.producer_epoch, fields.base_sequence


def test_numbers_count_records():
    sequences = begun()

    assert [numbers(sent(sequences, batch_of(n))) for n in (3, 1, 5)] == [
        (7, 0, 2),
        (7, 0, 5),
        (7, 0, 6),
    ]


def test_first_batch_of_a_producer_id_is_sent_alone():
    sequences = PartitionSequences(Identities(Identity(7, 0)))
    first = sent(sequences, batch_of())

    assert not sequences.may_send(batch_of())
    sequences.stored(first)
    assert sequences.may_send(batch_of())


def test_at_most_five_batches_are_outstanding():
    sequences = begun()
    batches = [sent(sequences, batch_of()) for _ in range(5)]

    assert not sequences.may_send(batch_of())
    sequences.stored(batches[0])
    assert sequences.may_send(batch_of())


def test_nothing_is_sent_without_an_identity():
    sequences = PartitionSequences(Identities())

    assert not sequences.may_send(batch_of())
    with pytest.raises(ValueError, match="no producer id"):
        sequences.number(batch_of())


def test_failure_stops_new_numbers_until_all_outstanding_batches_are_decided():
    sequences = begun()
    failed, later = (sent(sequences, batch_of()) for _ in range(2))

    sequences.failed(failed)
    assert not sequences.may_send(batch_of())
    assert sequences.may_send(later)
    assert sequences.out_of_order(later)
    fresh = batch_of()
    assert sequences.may_send(later)
    sequences.number(later)

    assert numbers(later) == (7, 1, 0)
    assert numbers(sent(sequences, fresh)) == (7, 1, 2)


def test_failed_batch_that_was_never_numbered_leaves_no_gap():
    sequences = begun()
    sequences.failed(batch_of())

    assert not sequences.has_gap


def test_out_of_order_for_the_oldest_batch_is_a_failure_and_for_others_a_retry():
    sequences = begun()
    oldest, later = (sent(sequences, batch_of()) for _ in range(2))

    assert sequences.out_of_order(later)
    assert not sequences.out_of_order(oldest)
    assert not later.needs_sequence


def test_forgotten_producer_begins_anew_unless_the_batch_may_be_stored():
    sequences = begun()
    batch = sent(sequences, batch_of())

    assert sequences.unknown_producer(batch)
    assert numbers(sent(sequences, batch)) == (7, 1, 0)

    sequences = begun()
    batch = sent(sequences, batch_of())
    batch.may_be_stored = True
    assert not sequences.unknown_producer(batch)


def test_partitions_share_epochs_without_disturbing_one_another():
    identities = Identities(Identity(7, 0))
    one_partition, other = begun(identities), begun(identities)

    one_partition.failed(sent(one_partition, batch_of()))
    assert numbers(sent(one_partition, batch_of())) == (7, 1, 0)
    assert numbers(sent(other, batch_of())) == (7, 0, 2)
    other.failed(other.outstanding[0])
    assert numbers(sent(other, batch_of())) == (7, 1, 0)


def test_last_epoch_is_followed_by_a_new_producer_id():
    identities = Identities(Identity(7, 0x7FFF))
    sequences = begun(identities)
    sequences.failed(sent(sequences, batch_of()))

    assert not sequences.may_send(batch_of())
    assert identities.current is None
    identities.current = Identity(8, 0)
    assert numbers(sent(sequences, batch_of())) == (8, 0, 0)
    assert not sequences.may_send(batch_of())


def test_lost_identity_is_forgotten_unless_it_was_replaced():
    identities = Identities(Identity(7, 3))
    identities.lost(Identity(6, 3))
    assert identities.current == Identity(7, 3)
    identities.lost(Identity(7, 1))
    assert identities.current is None


def test_transactions_take_the_epoch_of_each_transaction():
    identities = Identities(Identity(7, 0), is_local=False)
    sequences = begun(identities)
    identities.current = Identity(7, 1)
    assert numbers(sent(sequences, batch_of())) == (7, 1, 0)

    sequences.failed(sequences.outstanding[0])
    assert not sequences.may_send(batch_of())
    identities.current = Identity(7, 2)
    assert numbers(sent(sequences, batch_of())) == (7, 2, 0)


def test_batch_that_may_be_stored_gets_no_other_number_behind_a_gap():
    sequences = begun()
    failed, later = (sent(sequences, batch_of()) for _ in range(2))
    later.may_be_stored = True
    sequences.failed(failed)

    assert not sequences.out_of_order(later)
    assert not later.needs_sequence
