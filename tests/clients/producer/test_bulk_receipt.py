"""Receipts of many records, whose batches are stored, fail or are split."""

import pytest
import trio

from trio_kafka.clients.errors import RecordTooLargeError
from trio_kafka.clients.producer.batch import Failed, ProducerBatch, Stored
from trio_kafka.clients.producer.bulk_receipt import BulkReceipt, show_positions
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.records.compression import Codec


def batch(partition: int, count: int) -> ProducerBatch:
    place = TopicPartition("t", partition)
    result = ProducerBatch(place=place, order=(1,), created=0.0, expires=9.0)
    result.add_many([b"v"] * count, None, 1, 20 * count)
    return result


def too_large() -> Failed:
    return Failed(error=RecordTooLargeError("no", code=ErrorCode.MESSAGE_TOO_LARGE))


def test_places_of_stored_records_are_by_batch():
    receipt, first, second = BulkReceipt(first=10), batch(0, 3), batch(1, 2)
    receipt.note(first, 1, range(10, 12))
    receipt.note(second, 0, [12, 14])

    first.finish(Stored(base_offset=100))
    assert not receipt.is_done
    with pytest.raises(trio.WouldBlock):
        receipt.result()
    second.finish(Stored())

    places = [(row.partition, row.base_offset, list(row.positions)) for row in receipt.result()]
    assert places == [(0, 101, [10, 11]), (1, -1, [12, 14])]
    assert (receipt.count, receipt.next_position) == (4, 14)


def test_error_names_the_first_records_that_failed_and_failures_lists_all():
    receipt, first, second = BulkReceipt(), batch(0, 2), batch(1, 1)
    receipt.note(first, 0, [0, 2])
    receipt.note(second, 0, [1])
    first.finish(too_large())
    second.finish(Stored(base_offset=5))

    with pytest.raises(RecordTooLargeError, match=r"MESSAGE_TOO_LARGE: no; records 0, 2$"):
        receipt.result()
    assert [list(row.positions) for row in receipt.failures()] == [[0, 2]]
    assert [list(row.positions) for row in receipt.stored()] == [[1]]


def test_records_of_a_split_batch_are_found_in_its_parts():
    receipt, whole = BulkReceipt(), batch(0, 10)
    receipt.note(whole, 2, range(7))
    whole.close(Codec.NONE, None)
    parts = whole.split(70, 0.0)
    assert len(parts) > 2
    for number, part in enumerate(parts):
        part.finish(too_large() if number == 1 else Stored(base_offset=100 * number))

    failed = [position for row in receipt.failures() for position in row.positions]
    stored = [position for row in receipt.stored() for position in row.positions]

    assert sorted(failed + stored) == list(range(7))
    begin = parts[0].count - 2
    assert failed == list(range(begin, begin + parts[1].count))
    assert receipt.stored()[0].base_offset == 2


def test_records_at_the_end_of_a_split_batch_are_in_its_last_parts():
    receipt, whole = BulkReceipt(), batch(0, 10)
    receipt.note(whole, 7, range(3))
    whole.close(Codec.NONE, None)
    parts = whole.split(70, 0.0)
    begin = 0
    for part in parts:
        part.finish(Stored(base_offset=begin))
        begin += part.count

    assert parts[0].count <= 7
    offsets = [row.base_offset + n for row in receipt.stored() for n in range(len(row.positions))]
    assert offsets == [7, 8, 9]


async def test_wait_ends_when_the_last_batch_has_ended(autojump_clock):
    receipt, only = BulkReceipt(), batch(0, 1)
    receipt.note(only, 0, [0])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(receipt.wait)
        await trio.sleep(1)
        only.finish(Stored(base_offset=0))

    assert [row.base_offset for row in await receipt] == [0]


def test_positions_are_shown_as_a_range_or_as_some():
    assert show_positions([4]) == "record 4"
    assert show_positions(range(3, 9)) == "records 3 to 8"
    assert show_positions([1, 3, 5]) == "records 1, 3, 5"
    assert show_positions(range(0, 40, 2)) == "records 0, 2, 4, 6, 8 and 15 more up to 38"
