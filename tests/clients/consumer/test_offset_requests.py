"""Validation of positions after a change of the leader (KIP-320)."""

import pytest

from tests.clients.consumer.kit import T0
from tests.clients.consumer.kit_requests import cache_of, lead, machines
from trio_kafka.clients.consumer.partition_state import Phase
from trio_kafka.clients.consumer.values import Position
from trio_kafka.clients.errors import OffsetOutOfRangeError
from trio_kafka.protocol.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)


def validate(end: int, epoch: int, timestamp: int | None = -2):
    cache = cache_of(epoch=1)
    positions, fetches, offsets = machines(cache, timestamp)
    positions.assign([T0])
    positions.seek(T0, Position(10))
    assert fetches.due(0.0)
    positions.read(positions[T0], Position(10, 1))
    lead(cache, 2, node=2)
    assert fetches.due(1.0) == []
    (attempt,) = offsets.due(1.0, 0)
    assert attempt.node == 2
    assert attempt.request.topics[0].partitions[0].leader_epoch == 1
    row = EpochEndOffset(partition=0, leader_epoch=epoch, end_offset=end)
    result = OffsetForLeaderTopicResult(topic="t", partitions=[row])
    offsets.answered(attempt, OffsetForLeaderEpochResponse(topics=[result]), 1.0)
    return positions, fetches


@pytest.mark.parametrize(("end", "offset"), [(10, 10), (20, 10), (7, 7)])
def test_position_stays_if_the_new_leader_has_it_and_else_goes_to_where_the_logs_part(end, offset):
    positions, fetches = validate(end, 1)

    assert positions[T0].position.offset == offset
    (attempt,) = fetches.due(2.0)
    (row,) = attempt.rows.values()
    assert (attempt.node, row.offset, row.leader_epoch) == (2, offset, 2)


def test_truncation_is_an_error_without_a_reset():
    positions, _ = validate(7, 1, timestamp=None)

    assert isinstance(positions.errors[T0], OffsetOutOfRangeError)
    assert positions[T0].phase is Phase.VALIDATE


def test_epoch_that_the_leader_does_not_have_resets_the_position():
    positions, _ = validate(-1, -1)

    assert positions[T0].phase is Phase.RESET
