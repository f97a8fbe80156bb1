import pytest

from tests.log.kit import produced, sample
from trio_kafka.log import producer_snapshot_format
from trio_kafka.log.producer_snapshot_format import CorruptSnapshotError, encode
from trio_kafka.log.producer_state import ProducedBatch, ProducerState
from trio_kafka.records.header import NO_SEQUENCE
from trio_kafka.scheduling.chunked_work import whole

SNAPSHOTS = [
    (archive, folder, name)
    for archive, folder in (("txn", "txn-0"), ("epochs", "epochs-0"), ("logappend", "logappend-0"))
    for name in sample(archive)[folder]
    if name.endswith(".snapshot")
]


def decode(content: bytes) -> ProducerState:
    return whole(producer_snapshot_format.decode(content))


@pytest.mark.parametrize(("archive", "folder", "name"), SNAPSHOTS)
def test_producer_snapshots_of_apache_kafka_are_rewritten_byte_for_byte(archive, folder, name):
    content = sample(archive)[folder][name]

    assert encode(decode(content)) == content


def test_open_transaction_is_read_from_a_producer_snapshot():
    state = decode(sample("txn")["txn-0"]["00000000000000000034.snapshot"])

    assert state.get(2001).transaction_first_offset == 31
    assert state.get(2001).batches[-1].first_sequence == 0
    assert state.get(5).last_sequence == -1
    assert state.get(5).coordinator_epoch == 0
    assert state.last_stable_offset(34) == 31


def test_producer_snapshot_without_producers_has_ten_bytes():
    assert len(encode(ProducerState())) == 10


def test_producer_snapshot_with_any_damaged_byte_is_corrupt():
    content = sample("epochs")["epochs-0"]["00000000000000000015.snapshot"]

    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1
        with pytest.raises(CorruptSnapshotError):
            decode(bytes(damaged))
    for size in range(len(content)):
        with pytest.raises(CorruptSnapshotError):
            decode(content[:size])


@pytest.mark.parametrize(("sequence", "first"), [(1, (1 << 31) - 2), (7, 4), (3, 0)])
def test_last_batch_of_a_producer_is_restored_across_the_sequence_wraparound(sequence, first):
    state = ProducerState()
    state.note(produced(5, 1, first, 3, offset=20, timestamp=8, transactional=False))

    (producer,) = decode(encode(state))

    assert producer.batches == [ProducedBatch(first, sequence, 23, 3, 8)]
    assert producer.batches[0].first_offset == 20
    assert (producer.epoch, producer.timestamp) == (1, 8)


def test_last_batch_without_a_sequence_is_restored_from_a_snapshot():
    state = ProducerState()
    state.note(produced(5, 1, NO_SEQUENCE, 2, offset=20, timestamp=8, transactional=True))

    (producer,) = decode(encode(state))

    assert producer.batches == [ProducedBatch(NO_SEQUENCE, NO_SEQUENCE, 22, 2, 8)]
    assert producer.transaction_first_offset == 20


def test_snapshot_of_many_producers_is_decoded_in_steps():
    state = ProducerState()
    for number in range(1000):
        state.note(produced(number, 1, 0, 0, offset=number, timestamp=8, transactional=False))
    steps = producer_snapshot_format.decode(encode(state))

    assert len(list(steps)) == 3
    assert encode(decode(encode(state))) == encode(state)
