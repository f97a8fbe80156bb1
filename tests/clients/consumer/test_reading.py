"""Records out of buffers: bounds, positions, and records that cannot be deserialized."""

import pytest

from tests.clients.consumer.kit import T0, T1
from tests.clients.consumer.test_positions import fetched
from trio_kafka.clients.consumer.fetched import FetchedData
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.consumer.reading import RecordReader
from trio_kafka.clients.consumer.values import Position, as_bytes
from trio_kafka.clients.errors import ClientError, SerializationError
from trio_kafka.errors import ErrorCode
from trio_kafka.records.batch import Record, encode_batch


def reader_of(*places, most=10, value_deserializer=as_bytes):
    """A reader of partitions that have five records each."""
    positions = Positions()
    positions.assign(places)
    for at in places:
        positions.seek(at, Position(0))
        positions.fetched(positions[at], fetched(0, 5))
    return positions, RecordReader(
        positions=positions,
        key_deserializer=as_bytes,
        value_deserializer=value_deserializer,
        most=most,
    )


def number(topic, data):
    """Deserialize a number; 2 cannot be."""
    assert topic == "t"
    if data == b"2":
        raise ValueError(data)
    return int(data)


def test_read_ends_at_its_bound_and_the_next_one_goes_on_there():
    positions, reader = reader_of(T0, T1, most=3)

    parts = []
    while records := reader.read():
        parts.append([(record.partition, record.offset) for record in records])

    assert [len(part) for part in parts] == [3, 3, 3, 1]
    assert sorted(place for part in parts for place in part) == [
        (number, n) for number in (0, 1) for n in range(5)
    ]
    assert positions.buffered == 0
    assert positions[T0].position.offset == positions[T1].position.offset == 5


def test_records_that_were_not_handed_out_one_by_one_are_read_again():
    positions, reader = reader_of(T0)
    assert [reader.next().offset for _ in range(2)] == [0, 1]
    assert positions[T0].position.offset == 2

    assert [record.offset for record in reader.read()] == [2, 3, 4]


@pytest.mark.parametrize("way", ["read", "next", "read_partition"])
def test_record_that_cannot_be_deserialized_is_an_error_after_those_before_it(way):
    positions, reader = reader_of(T0, value_deserializer=number)
    state = positions[T0]

    def step():
        if way == "next":
            return [reader.next().value]
        return [
            record.value
            for record in (reader.read() if way == "read" else reader.read_partition(state))
        ]

    before = []
    while len(before) < 2:
        before += step()
    assert before == [0, 1]
    for _ in range(2):
        with pytest.raises(SerializationError, match="offset 2"):
            step()
    assert state.position.offset == 2


@pytest.mark.parametrize("way", ["read", "next", "read_partition"])
def test_corrupt_batch_between_others_is_an_error_until_the_reader_seeks_behind_it(way):
    positions, reader = reader_of(T0)
    state = positions[T0]
    batches = [
        bytearray(encode_batch([Record(value=b"%d" % n, timestamp=0)], n, 0)) for n in range(3)
    ]
    batches[1][-2] ^= 0xFF
    content = memoryview(b"".join(batches))

    def fetch():
        """Buffer what the broker answers to a Fetch from the position."""
        positions.fetched(state, FetchedData(content, state.fetch_from, Position(3, 0)))

    def step():
        if way == "next":
            return [reader.next().offset]
        records = reader.read() if way == "read" else reader.read_partition(state)
        return [record.offset for record in records]

    positions.seek(T0, Position(0))
    fetch()
    assert step() == [0]
    for _ in range(3):
        if not state.buffer:
            fetch()
        with pytest.raises(ClientError) as caught:
            step()
        assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
        assert state.position.offset == 1

    positions.seek(T0, Position(2))
    positions.fetched(state, FetchedData(memoryview(batches[2]), Position(2), Position(3, 0)))
    assert step() == [2]


def test_batch_that_is_taken_whole_moves_the_position_behind_it():
    positions, reader = reader_of(T0, T1)
    reader.next()

    state, data = reader.next_data()

    assert (state.at, data.read_to.offset, data.end.offset) == (T0, 1, 5)
    assert positions[T0].position.offset == 5
    assert reader.next_data()[0].at == T1
    assert reader.next_data() is None
    assert positions.buffered == 0


def test_batches_of_partitions_come_in_turn():
    positions, reader = reader_of(T0, T1)
    for at in (T0, T1):
        positions.fetched(positions[at], fetched(5, 5))

    taken = [reader.next_data() for _ in range(4)]

    assert [(state.at, data.read_to.offset) for state, data in taken] == [
        (T0, 0),
        (T1, 0),
        (T0, 5),
        (T1, 5),
    ]
