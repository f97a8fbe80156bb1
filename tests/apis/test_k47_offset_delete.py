"""OffsetDelete: what is forgotten, and what is not."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker
from tests.apis.test_k08_offset_commit import stored
from tests.apis.test_k09_offset_fetch import commit
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)


def asking(group: str, topic: str, *partitions: int) -> OffsetDeleteRequest:
    parts = [OffsetDeleteRequestPartition(number) for number in partitions]
    return OffsetDeleteRequest(group, [OffsetDeleteRequestTopic(topic, parts)])


async def test_offsets_are_forgotten_and_unknown_partitions_told(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        await served.serve_groups("g")
        await commit(served, "g", "t", 0, 7)
        await commit(served, "g", "t", 1, 8)
        answer = await served.ask(asking("g", "t", 5, 0), 0)

        assert answer.error_code == 0
        assert [(one.partition_index, one.error_code) for one in answer.topics[0].partitions] == [
            (5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (0, 0),
        ]
        assert stored(served, "g", "t", 0) is None
        assert stored(served, "g", "t", 1) == 8


async def test_a_group_without_a_name_has_offsets_that_cannot_be_deleted(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("")
        await commit(served, "", "t", 0, 7)

        answer = await served.ask(asking("", "t", 0), 0)

        assert answer.error_code == ErrorCode.INVALID_GROUP_ID
        assert stored(served, "", "t", 0) == 7


async def test_a_group_that_is_not_there_is_told_so(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")

        answer = await served.ask(asking("g", "t", 0), 0)
        assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND

        answer = await served.ask(asking("g", "none", 0), 0)
        assert answer.error_code == 0
        assert [one.error_code for one in answer.topics[0].partitions] == [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ]


@pytest.mark.parametrize(
    ("group", "code"),
    [("g", 0), ("none", ErrorCode.GROUP_ID_NOT_FOUND), ("", ErrorCode.INVALID_GROUP_ID)],
)
async def test_who_asks_for_no_offsets_learns_of_the_group(
    autojump_clock: MockClock, group: str, code: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g", "none", "")
        await commit(served, "g", "t", 0, 7)

        answer = await served.ask(OffsetDeleteRequest(group), 0)

        assert (answer.error_code, answer.topics) == (code, [])
        assert stored(served, "g", "t", 0) == 7
