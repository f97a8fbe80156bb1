"""Rows of fetch sessions: nearer replicas (KIP-392), and partitions with full buffers."""

from tests.clients.consumer.kit import T0, T1
from tests.clients.consumer.kit_requests import data, reading, response
from trio_kafka.clients.consumer.values import Position
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k01_fetch import PartitionData


def test_partition_is_fetched_from_the_replica_that_its_leader_prefers_and_back_on_an_error():
    _, positions, fetches, responses = reading(T0)
    (attempt,) = fetches.due(0.0)
    responses.answered(attempt, response(PartitionData(0, preferred_read_replica=2)), 0.0)
    (attempt,) = fetches.due(0.1)
    assert attempt.node == 2
    code = int(ErrorCode.OFFSET_OUT_OF_RANGE)
    responses.answered(attempt, response(PartitionData(0, error_code=code)), 0.2)
    assert [attempt.node for attempt in fetches.due(0.3)] == [1]
    assert positions[T0].position == Position(0)


def test_partition_with_a_full_buffer_is_not_fetched_beside_others():
    _, positions, fetches, responses = reading(T0, T1, max_bytes=10_000)
    (attempt,) = fetches.due(0.0)
    responses.answered(attempt, response(PartitionData(0, records=data(0, 700))), 0.0)

    (attempt,) = fetches.due(0.1)
    assert set(attempt.rows) == {T1}
    responses.answered(attempt, response(), 0.1)
    positions.take(positions[T0])
    (attempt,) = fetches.due(0.2)
    assert attempt.rows[T0].offset == 1
