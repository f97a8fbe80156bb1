"""AlterPartitionReassignments: what one broker can do is nothing, or an error that says so."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)


@pytest.mark.parametrize("version", stable(AlterPartitionReassignmentsRequest))
async def test_each_partition_is_answered_independently_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    reassignments: list[tuple[int, list[int] | None]] = [(0, [1]), (0, [2]), (0, None), (1, [1])]
    async with broker() as served:
        await served.create_topic("t")
        partitions = [ReassignablePartition(*reassignment) for reassignment in reassignments]
        topics = [ReassignableTopic("t", partitions), ReassignableTopic("u", partitions[:1])]
        answer = await served.ask(AlterPartitionReassignmentsRequest(topics=topics), version)

    assert (answer.error_code, answer.error_message) == (0, None)
    result = [[row.error_code for row in topic.partitions] for topic in answer.responses]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert result == [
        [
            0,
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
            unknown,
        ],
        [unknown],
    ]
