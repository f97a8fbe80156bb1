import pytest

from tests.log.kit import sample
from trio_kafka.log.producer_snapshot import CorruptSnapshotError, decode, encode
from trio_kafka.log.producer_state import ProducerState

SNAPSHOTS = [
    (archive, folder, name)
    for archive, folder in (("txn", "txn-0"), ("epochs", "epochs-0"), ("logappend", "logappend-0"))
    for name in sample(archive)[folder]
    if name.endswith(".snapshot")
]


@pytest.mark.parametrize(("archive", "folder", "name"), SNAPSHOTS)
def test_kafkas_snapshots_are_written_again_byte_for_byte(archive, folder, name):
    content = sample(archive)[folder][name]

    assert encode(decode(content)) == content


def test_an_open_transaction_is_known_again():
    state = decode(sample("txn")["txn-0"]["00000000000000000034.snapshot"])

    assert state.get(2001).transaction_first_offset == 31
    assert state.get(2001).batches[-1].first_sequence == 0
    assert state.get(5).last_sequence == -1
    assert state.get(5).coordinator_epoch == 0
    assert state.last_stable_offset(34) == 31


def test_no_producers_are_ten_bytes():
    assert len(encode(ProducerState())) == 10


def test_every_damaged_byte_is_noticed():
    content = sample("epochs")["epochs-0"]["00000000000000000015.snapshot"]

    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1
        with pytest.raises(CorruptSnapshotError):
            decode(bytes(damaged))
    for size in range(len(content)):
        with pytest.raises(CorruptSnapshotError):
            decode(content[:size])
