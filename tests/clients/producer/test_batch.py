"""Batches: their bytes, sequence numbers in place, splits."""

import pytest

from trio_kafka.clients.errors import ClientError
from trio_kafka.clients.producer.batch import Failed, ProducerBatch, Stored, advanced
from trio_kafka.clients.producer.receipt import Receipt
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import (
    ProducerFields,
    Record,
    check_crc,
    iterate_headers,
    read_records,
)
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import TRANSACTIONAL

PLACE = TopicPartition("t", 3)


def batch_of(values, size=40):
    batch = ProducerBatch(place=PLACE, order=(4,), created=1.0, expires=9.0)
    for value in values:
        batch.add(Record(-1, 1000, b"k", value, [("h", b"1")]), size)
    return batch


def content(data):
    ((at, header),) = iterate_headers(bytes(data))
    check_crc(bytes(data), at, header)
    return header, list(read_records(bytes(data), at, header))


@pytest.mark.parametrize("codec", list(Codec))
def test_closed_batch_has_all_records_in_order(codec):
    values = [b"%d" % number for number in range(200)]
    batch = batch_of(values)
    data = batch.close(codec, None, TRANSACTIONAL)

    header, records = content(data)
    assert [record.value for record in records] == values
    assert records[0].key == b"k"
    assert list(records[0].headers) == [("h", b"1")]
    assert header.codec is codec
    assert header.attributes & TRANSACTIONAL
    assert batch.close(codec, None) is data
    assert (batch.is_closed, batch.encoded_size) == (True, len(data))


def test_sequence_number_is_stamped_before_and_after_the_batch_is_closed():
    batch = batch_of([b"a"])
    batch.stamp(ProducerFields(7, 1, 5))
    data = batch.close(Codec.NONE, None)
    assert content(data)[0].base_sequence == 5

    batch.stamp(ProducerFields(7, 2, 0))

    header, _ = content(data)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 0)


def test_sequence_numbers_begin_again_after_the_last_one():
    assert advanced(0x7FFFFFFE, 1) == 0x7FFFFFFF
    assert advanced(0x7FFFFFFE, 2) == 0
    assert advanced(0x7FFFFFFF, 3) == 2


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_parts_of_a_batch_have_its_records_numbers_age_and_memory(codec):
    values = [b"%02d" % number * 20 for number in range(10)]
    batch = batch_of(values)
    batch.stamp(ProducerFields(7, 1, 100))
    batch.close(codec, None)
    batch.attempts = 2
    memory = batch.memory

    parts = batch.split(150, 5.0)

    contents = [content(part.close(codec, None)) for part in parts]
    assert [record.value for _, records in contents for record in records] == values
    assert len(parts) > 1
    assert [header.base_sequence for header, _ in contents] == [
        100 + sum(part.count for part in parts[:number]) for number in range(len(parts))
    ]
    assert [part.order for part in parts] == [(4, number) for number in range(len(parts))]
    assert {(part.created, part.expires, part.attempts) for part in parts} == {(1.0, 9.0, 2)}
    assert sum(part.memory for part in parts) == memory
    assert batch.memory == 0


def test_batch_of_two_small_records_is_split_in_two():
    batch = batch_of([b"a", b"b"])
    batch.close(Codec.NONE, None)

    assert [part.count for part in batch.split(1 << 20, 0.0)] == [1, 1]


def test_receipts_follow_their_records_into_the_parts():
    batch = batch_of([b"%d" % number for number in range(6)])
    receipts = [Receipt(batch, number, 1000) for number in range(6)]
    batch.close(Codec.NONE, None)
    for offset, part in enumerate(batch.split(60, 0.0)):
        part.finish(Stored(base_offset=1000 * offset))

    offsets = [receipt.result().offset for receipt in receipts]
    assert len(set(offsets)) == 6
    assert offsets == sorted(offsets)


def test_end_drops_the_bytes_unless_they_are_being_sent():
    batch = batch_of([b"a"])
    batch.close(Codec.NONE, None)
    batch.in_flight = True
    batch.finish(Failed(error=ClientError("x")))
    assert batch.data is not None

    batch = batch_of([b"a"])
    batch.close(Codec.NONE, None)
    batch.finish(Stored())
    assert batch.data is None
    with pytest.raises(ValueError, match="the batch has ended"):
        batch.close(Codec.NONE, None)
