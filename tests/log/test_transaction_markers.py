from struct import pack

from tests.log.kit import batch, sample
from tests.records.kit import encode_batch
from trio_kafka.log.index.aborted_transactions import AbortedTransaction
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.log.transaction_markers import note_batch
from trio_kafka.records.batch import Record, iterate_headers, read_header


def marker(kind, *, offset=0, epoch=0):
    record = Record(key=pack(">hh", 0, kind), value=pack(">hi", 0, 7), timestamp=1)
    return encode_batch(
        [record], offset, producer_id=1, producer_epoch=epoch, transactional=True, control=True
    )


def test_unreadable_marker_does_not_end_a_transaction():
    producers = ProducerState()
    begun = encode_batch([Record()], producer_id=1, producer_epoch=0, transactional=True)
    assert note_batch(producers, read_header(begun), begun, position=0) is None
    short = encode_batch(
        [Record(key=pack(">hh", 0, 0), value=b"")], 1, producer_id=1, producer_epoch=0, control=True
    )

    for unknown in (short, marker(2, offset=1)):
        assert note_batch(producers, read_header(unknown), unknown, position=0) is None
    assert producers.first_open_offset(9) == 0
    assert (
        note_batch(producers, read_header(marker(0)), marker(0, offset=1), position=0) is not None
    )


def test_abort_marker_returns_an_entry_for_the_transaction_index():
    producers = ProducerState()
    data = batch(2, base_offset=4, producer_id=1, producer_epoch=0, base_sequence=0)
    data = encode_batch(
        [Record(), Record()],
        4,
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )

    assert note_batch(producers, read_header(data), data, position=0) is None
    end = marker(0, offset=6)

    assert note_batch(producers, read_header(end), end, position=0) == AbortedTransaction(
        producer_id=1, first_offset=4, last_offset=6, last_stable_offset=7
    )


def test_log_of_apache_kafka_yields_its_transaction_index():
    files = sample("txn")["txn-0"]
    producers = ProducerState()
    aborted = []
    for name in sorted(name for name in files if name.endswith(".log")):
        for position, header in iterate_headers(files[name]):
            result = note_batch(producers, header, files[name], position=position)
            aborted += [result] if result else []

    assert [
        (transaction.first_offset, transaction.last_offset, transaction.last_stable_offset)
        for transaction in aborted
    ] == [
        (6, 11, 12),
        (18, 28, 29),
    ]
    assert producers.get(2001).transaction_first_offset == 31


def test_batch_without_a_sequence_opens_a_transaction_of_its_producer():
    producers = ProducerState()
    data = encode_batch(
        [Record(), Record()], 4, producer_id=1, producer_epoch=3, transactional=True
    )

    assert note_batch(producers, read_header(data), data, position=0) is None

    (producer,) = producers
    assert (producer.epoch, producer.last_sequence) == (3, -1)
    assert (producer.transaction_first_offset, producer.batches[-1].last_offset) == (4, 5)
