"""Batches of one response: what a reader gets, and where the position goes."""

import pytest

from trio_kafka.clients.consumer.fetched import FetchedData, whole_end
from trio_kafka.clients.consumer.values import Position
from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import ProducerFields, Record, encode_batch
from trio_kafka.records.control import Marker, encode_marker
from trio_kafka.records.header import TRANSACTIONAL

P9 = ProducerFields(9, 0, 0)


def batch(start: int, count: int, **fields: object) -> bytes:
    records = [Record(value=b"%d" % n, timestamp=0) for n in range(start, start + count)]
    return encode_batch(records, start, 3, **fields)


def test_reading_begins_at_the_fetch_offset_and_ends_behind_the_last_whole_batch():
    content = memoryview(batch(0, 5) + batch(5, 5)[:-3])
    start = Position(2)
    data = FetchedData(content, start, whole_end(content, start))

    parts = [[record.offset for record in data.read(1)[0]] for _ in range(3)]

    assert parts == [[2], [3], [4]]
    assert data.read(10) == ((), None)
    assert data.read_to == Position(5, 3)


def test_values_are_those_that_were_not_read_and_move_the_position():
    content = memoryview(batch(0, 5) + batch(5, 1) + batch(6, 2)[:-3])
    start = Position(2)
    data = FetchedData(content, start, whole_end(content, start))

    first, _ = data.read(1)
    values = [value for part in data.values() for value in part]

    assert [record.value for record in first] == [b"2"]
    assert values == [b"3", b"4", b"5"]
    assert data.read_to == Position(6, 3)
    assert list(data.values()) == []


def test_aborted_batch_is_left_out_and_passed():
    marker, _ = encode_marker(
        Marker(committed=False, coordinator_epoch=0), producer_id=9, producer_epoch=0, timestamp=0
    )
    marker[:8] = (3).to_bytes(8, "big")
    content = memoryview(batch(0, 3, producer=P9, attributes=TRANSACTIONAL) + bytes(marker))
    start = Position(0)
    data = FetchedData(content, start, whole_end(content, start), [(9, 0)])

    assert list(FetchedData(content, start, data.end, [(9, 0)]).values()) == []
    assert data.read(10) == ((), None)
    assert data.read_to.offset == 4


def test_damaged_batch_is_an_error_before_which_the_position_stays():
    content = bytearray(batch(0, 3))
    content[-1] ^= 1
    view = memoryview(content)
    data = FetchedData(view, Position(0), whole_end(view, Position(0)))

    with pytest.raises(KafkaError, match="crc"):
        list(FetchedData(view, Position(0), data.end).values())
    with pytest.raises(KafkaError, match="crc"):
        data.read(10)
    assert data.read_to == Position(0)


@pytest.mark.parametrize("way", ["read", "values"])
def test_batch_behind_a_damaged_one_is_never_read(way):
    damaged = bytearray(batch(0, 3))
    damaged[-1] ^= 1
    view = memoryview(bytes(damaged) + batch(3, 3))
    data = FetchedData(view, Position(0), whole_end(view, Position(0)))

    for _ in range(2):
        with pytest.raises(KafkaError, match="crc"):
            data.read(10) if way == "read" else list(data.values())
    assert data.read_to == Position(0)
