"""Fetch requests: nearer replicas, memory, and responses that are too late."""

from tests.clients.consumer.kit import T0, T1
from tests.clients.consumer.kit_requests import TOPIC, cache_of, lead, machines
from trio_kafka.clients.consumer.values import Position
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from trio_kafka.records.batch import Record, encode_batch


def response(*parts):
    return FetchResponse(
        session_id=7, responses=[FetchableTopicResponse(topic_id=TOPIC, partitions=list(parts))]
    )


def data(start: int, size: int) -> memoryview:
    return memoryview(encode_batch([Record(value=bytes(size), timestamp=0)], start, 0))


def reading(*places, max_bytes=1000):
    cache = cache_of()
    positions, fetches, _ = machines(cache, max_bytes=max_bytes)
    positions.assign(places)
    for at in places:
        positions.seek(at, Position(0))
    return cache, positions, fetches


def test_partition_is_fetched_from_the_replica_that_its_leader_prefers_and_back_on_an_error():
    _, positions, fetches = reading(T0)
    (attempt,) = fetches.due(0.0)
    fetches.answered(attempt, response(PartitionData(0, preferred_read_replica=2)), 0.0)
    (attempt,) = fetches.due(0.1)
    assert attempt.node == 2
    code = int(ErrorCode.OFFSET_OUT_OF_RANGE)
    fetches.answered(attempt, response(PartitionData(0, error_code=code)), 0.2)
    assert [attempt.node for attempt in fetches.due(0.3)] == [1]
    assert positions[T0].position == Position(0)


def test_response_of_an_old_leader_is_void():
    cache, positions, fetches = reading(T0)
    (attempt,) = fetches.due(0.0)
    lead(cache, 1, node=2)
    fetches.due(0.1)
    fetches.answered(attempt, response(PartitionData(0, records=data(0, 10))), 0.2)

    assert positions.buffered == 0


def test_response_to_a_fetch_before_a_seek_is_void():
    _, positions, fetches = reading(T0)
    (attempt,) = fetches.due(0.0)
    positions.seek(T0, Position(5))
    fetches.answered(attempt, response(PartitionData(0, records=data(0, 10))), 0.2)

    assert positions.buffered == 0


def test_nothing_is_fetched_without_room_until_buffers_without_a_reader_are_dropped():
    _, positions, fetches = reading(T0, T1)
    (attempt,) = fetches.due(0.0)
    fetches.answered(attempt, response(PartitionData(0, records=data(0, 700))), 0.0)
    assert fetches.due(0.1) == []
    assert fetches.is_short

    fetches.relieve(lambda state: state.at == T1)

    (attempt,) = fetches.due(0.2)
    assert set(attempt.rows) == {T1}
    positions.ask_for(positions[T0])
    assert positions.buffered == 0
