"""ElectLeaders: on one node nothing needs it, until a partition has no leader."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k43_elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)


def rows(answer: ElectLeadersResponse) -> list[tuple[str, int, int]]:
    return [
        (topic.topic, part.partition_id, part.error_code)
        for topic in answer.replica_election_results
        for part in topic.partition_result
    ]


@pytest.mark.parametrize("version", stable(ElectLeadersRequest))
async def test_each_partition_has_a_result_of_its_own(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        request = ElectLeadersRequest(
            topic_partitions=[TopicPartitions("t", [0, 1, 7, 0]), TopicPartitions("u", [0])]
        )
        answer = await served.ask(request, version)

    assert rows(answer) == [
        ("t", 0, ErrorCode.ELECTION_NOT_NEEDED),
        ("t", 1, ErrorCode.ELECTION_NOT_NEEDED),
        ("t", 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("u", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


@pytest.mark.parametrize("kind", [0, 1])
async def test_election_of_all_leaves_out_partitions_that_need_none(
    autojump_clock: MockClock, kind: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        answer = await served.ask(ElectLeadersRequest(kind, None), 2)

    assert (answer.error_code, rows(answer)) == (0, [])


async def test_unknown_kind_of_election_is_an_invalid_request(autojump_clock: MockClock) -> None:
    async with broker() as served:
        answer = await served.ask(ElectLeadersRequest(2, None), 2)

    assert answer.error_code == ErrorCode.INVALID_REQUEST
