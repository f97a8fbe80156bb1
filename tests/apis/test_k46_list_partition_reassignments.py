"""ListPartitionReassignments: there are none."""

from trio.testing import MockClock

from tests.apis.kit import broker
from trio_kafka.protocol.messages.k46_list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)


async def test_a_single_broker_lists_no_reassignments(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        answer = await served.ask(ListPartitionReassignmentsRequest())

    assert (answer.error_code, answer.error_message) == (0, None)
    assert list(answer.topics) == []
