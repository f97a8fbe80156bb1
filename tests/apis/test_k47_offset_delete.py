"""OffsetDelete: what is forgotten, and what is not."""

from collections.abc import Awaitable, Callable

import pytest
from trio.testing import MockClock

from tests.apis.classic import GROUP as CLASSIC
from tests.apis.classic import join, stable_group
from tests.apis.kit import broker
from tests.apis.test_k08_offset_commit import stored
from tests.apis.test_k09_offset_fetch import commit
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from trio_kafka.testing.broker import ServedBroker


def asking(group: str, topic: str, *partitions: int) -> OffsetDeleteRequest:
    parts = [OffsetDeleteRequestPartition(number) for number in partitions]
    return OffsetDeleteRequest(group, [OffsetDeleteRequestTopic(topic, parts)])


async def test_offsets_are_deleted_and_unknown_partitions_are_errors(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        await served.serve_groups("g")
        await commit(served, "g", "t", 0, 7)
        await commit(served, "g", "t", 1, 8)
        answer = await served.ask(asking("g", "t", 5, 0), 0)

        assert answer.error_code == 0
        assert [
            (partition.partition_index, partition.error_code)
            for partition in answer.topics[0].partitions
        ] == [
            (5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (0, 0),
        ]
        assert stored(served, "g", "t", 0) is None
        assert stored(served, "g", "t", 1) == 8


async def test_offsets_of_a_group_with_an_empty_name_cannot_be_deleted(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("")
        await commit(served, "", "t", 0, 7)

        answer = await served.ask(asking("", "t", 0), 0)

        assert answer.error_code == ErrorCode.INVALID_GROUP_ID
        assert stored(served, "", "t", 0) == 7


async def test_an_unknown_group_is_refused_with_group_id_not_found(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")

        answer = await served.ask(asking("g", "t", 0), 0)
        assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND

        answer = await served.ask(asking("g", "none", 0), 0)
        assert answer.error_code == 0
        assert [partition.error_code for partition in answer.topics[0].partitions] == [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ]


@pytest.mark.parametrize(
    ("group", "code"),
    [("g", 0), ("none", ErrorCode.GROUP_ID_NOT_FOUND), ("", ErrorCode.INVALID_GROUP_ID)],
)
async def test_a_request_without_topics_returns_the_error_of_the_group(
    autojump_clock: MockClock, group: str, code: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g", "none", "")
        await commit(served, "g", "t", 0, 7)

        answer = await served.ask(OffsetDeleteRequest(group), 0)

        assert (answer.error_code, answer.topics) == (code, [])
        assert stored(served, "g", "t", 0) == 7


async def classic_reader(served: ServedBroker) -> str:
    """A group with a member that reads the topic t."""
    await stable_group(served)
    return CLASSIC


async def new_reader(served: ServedBroker) -> str:
    """The same in the protocol of KIP-848."""
    await served.serve_groups("new")
    request = ConsumerGroupHeartbeatRequest(
        "new",
        "m",
        0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    assert (await served.ask(request, 1)).error_code == 0
    return "new"


@pytest.mark.parametrize("reader", [classic_reader, new_reader])
async def test_offsets_of_subscribed_topics_stay_and_others_are_deleted(
    autojump_clock: MockClock, reader: Callable[[ServedBroker], Awaitable[str]]
) -> None:
    async with broker() as served:
        for topic in ("t", "u"):
            await served.create_topic(topic)
        group = await served_group(served, reader)
        request = asking(group, "t", 0)
        request.topics += asking(group, "u", 0).topics

        answer = await served.ask(request, 0)

        assert answer.error_code == 0
        assert [topic.partitions[0].error_code for topic in answer.topics] == [
            ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
            0,
        ]
        assert (stored(served, group, "t", 0), stored(served, group, "u", 0)) == (7, None)


async def served_group(
    served: ServedBroker, reader: Callable[[ServedBroker], Awaitable[str]]
) -> str:
    """Both topics have an offset, which was committed before anybody joined."""
    for group in (CLASSIC, "new"):
        await served.serve_groups(group)
        for topic in ("t", "u"):
            await commit(served, group, topic, 0, 7)
    return await reader(served)


async def test_no_offset_is_deleted_while_the_group_has_members_of_another_protocol(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups(CLASSIC)
        await commit(served, CLASSIC, "t", 0, 7)
        joined = await join(served, protocol_type="connect")
        assert joined.error_code == 0

        answer = await served.ask(asking(CLASSIC, "t", 0), 0)

        assert answer.error_code == ErrorCode.NON_EMPTY_GROUP
        assert stored(served, CLASSIC, "t", 0) == 7
