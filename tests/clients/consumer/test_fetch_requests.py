"""Fetch requests within the memory of the consumer."""

from tests.clients.consumer.kit import T0, T1
from tests.clients.consumer.kit_requests import data, reading, response
from trio_kafka.protocol.messages.k01_fetch import PartitionData


def test_nothing_is_fetched_without_room_until_buffers_without_a_reader_are_dropped():
    _, positions, fetches, responses = reading(T0, T1)
    (attempt,) = fetches.due(0.0)
    responses.answered(attempt, response(PartitionData(0, records=data(0, 700))), 0.0)
    assert fetches.due(0.1) == []
    assert fetches.is_short

    fetches.relieve(lambda state: state.at == T1)

    (attempt,) = fetches.due(0.2)
    assert set(attempt.rows) == {T1}
    positions.ask_for(positions[T0])
    assert positions.buffered == 0
