"""Positions under any order of seeks, fetches, reads and revocations, beside a model."""

from random import Random

from trio_kafka.clients.consumer.fetched import FetchedData
from trio_kafka.clients.consumer.partition_state import Phase
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.consumer.reading import RecordReader
from trio_kafka.clients.consumer.values import Position, as_bytes
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import Record, encode_batch

PLACES = [TopicPartition("t", number) for number in range(3)]


def fetched(start: int, count: int) -> FetchedData:
    """Batch of records whose values are their offsets."""
    records = [Record(value=b"%d" % n, timestamp=0) for n in range(start, start + count)]
    data = memoryview(encode_batch(records, start, 0))
    return FetchedData(data, Position(start, 0), Position(start + count, 0))


def test_records_follow_one_another_from_each_position(seeds):
    for seed in seeds(150, 3000):
        chance = Random(seed)
        positions = Positions()
        reader = RecordReader(
            positions=positions, key_deserializer=as_bytes, value_deserializer=as_bytes, most=7
        )
        positions.assign(PLACES)
        expected = {}
        for at in PLACES:
            positions.seek(at, Position(0))
            expected[at] = 0
        for _ in range(80):
            at = chance.choice(PLACES)
            state = positions.states.get(at)
            action = chance.randrange(8)
            if state is None:
                positions.add([at])
                positions.seek(at, Position(3))
                expected[at] = 3
            elif action <= 2 and state.phase is Phase.FETCH:
                positions.fetched(state, fetched(state.fetch_from.offset, chance.randrange(1, 9)))
            elif action == 3:
                expected[at] = chance.randrange(20)
                positions.seek(at, Position(expected[at]))
            elif action == 4:
                reader.flush()
                positions.remove([at])
            elif action == 5:
                (positions.resume if state.paused else positions.pause)([at])
            elif action == 6:
                for record in reader.read():
                    place = TopicPartition(record.topic, record.partition)
                    assert not positions[place].paused
                    assert record.offset == expected[place] == int(record.value)
                    expected[place] += 1
            elif (record := reader.next()) is not None:
                place = TopicPartition(record.topic, record.partition)
                assert record.offset == expected[place]
                expected[place] += 1
            for place, position in positions.consumed():
                assert position.offset == expected[place]
            assert positions.buffered == sum(s.buffered for s in positions.states.values())
