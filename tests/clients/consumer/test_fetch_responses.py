"""Responses to Fetch requests that come too late, or have errors."""

import pytest

from tests.clients.consumer.kit import T0
from tests.clients.consumer.kit_requests import data, lead, reading, response
from trio_kafka.clients.consumer.values import Position
from trio_kafka.clients.errors import AuthorizationError
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k01_fetch import PartitionData


def test_fetch_response_of_an_old_leader_is_discarded():
    cache, positions, fetches, responses = reading(T0)
    (attempt,) = fetches.due(0.0)
    lead(cache, 1, node=2)
    fetches.due(0.1)
    responses.answered(attempt, response(PartitionData(0, records=data(0, 10))), 0.2)

    assert positions.buffered == 0


def test_fetch_response_from_before_a_seek_is_discarded():
    _, positions, fetches, responses = reading(T0)
    (attempt,) = fetches.due(0.0)
    positions.seek(T0, Position(5))
    responses.answered(attempt, response(PartitionData(0, records=data(0, 10))), 0.2)

    assert positions.buffered == 0


@pytest.mark.parametrize(
    ("code", "is_told"),
    [(ErrorCode.NOT_LEADER_OR_FOLLOWER, False), (ErrorCode.TOPIC_AUTHORIZATION_FAILED, True)],
)
def test_partition_with_an_error_waits_and_only_an_error_that_does_not_pass_reaches_the_user(
    code, is_told
):
    _, positions, fetches, responses = reading(T0)
    (attempt,) = fetches.due(0.0)
    responses.answered(attempt, response(PartitionData(0, error_code=int(code))), 0.0)

    assert fetches.due(0.01) == []
    assert fetches.rows.is_stale
    assert isinstance(positions.errors.get(T0), AuthorizationError) is is_told
    assert fetches.next_time() == pytest.approx(0.1)
    assert [set(attempt.rows) for attempt in fetches.due(0.2)] == [{T0}]
