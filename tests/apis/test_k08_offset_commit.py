"""OffsetCommit: what is stored, by name and by id, and what is refused for its partition alone."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import broker, delete_topic, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from trio_kafka.testing.broker import ServedBroker
from trio_kafka.testing.scripted_client import connected

IDS_SINCE = 10


def commits(*parts: OffsetCommitRequestPartition, topic: str = "t", topic_id: bytes = bytes(16)):
    return OffsetCommitRequestTopic(topic, topic_id, list(parts))


def part(number: int, offset: int = 7, metadata: str | None = "m") -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(number, offset, -1, metadata)


def codes(answer: OffsetCommitResponse) -> list[list[tuple[int, int]]]:
    return [
        [(partition.partition_index, partition.error_code) for partition in topic.partitions]
        for topic in answer.topics
    ]


def stored(served: ServedBroker, group: str, topic: str, partition: int) -> int | None:
    offsets = served.broker.groups.coordinator.shard_of(group).machine.offsets
    value = offsets.get(group, topic, partition)
    return None if value is None else value.offset


@pytest.mark.parametrize("version", stable(OffsetCommitRequest))
async def test_committed_offsets_are_stored_with_the_id_of_their_topic(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t", 2)
        await served.serve_groups("g")
        request = OffsetCommitRequest("g", topics=[commits(part(1), topic_id=topic_id)])
        answer = await served.ask(request, version)

        assert codes(answer) == [[(1, 0)]]
        if version >= IDS_SINCE:
            assert answer.topics[0].topic_id == topic_id
        else:
            assert answer.topics[0].name == "t"
        value = served.broker.groups.coordinator.shard_of("g").machine.offsets.get("g", "t", 1)
        assert value is not None
        assert (value.offset, value.metadata) == (7, "m")
        assert value.topic_id == topic_id


async def test_invalid_partitions_are_refused_and_the_other_offsets_are_stored(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        await served.serve_groups("g")
        long = part(1, metadata="x" * 4097)
        request = OffsetCommitRequest(
            "g", topics=[commits(part(5), part(0), long), commits(part(0), topic="none")]
        )
        answer = await served.ask(request, 9)

        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert codes(answer) == [
            [(5, unknown), (0, 0), (1, ErrorCode.OFFSET_METADATA_TOO_LARGE)],
            [(0, unknown)],
        ]
        assert stored(served, "g", "t", 0) == 7
        assert stored(served, "g", "t", 1) is None


async def test_an_error_of_the_group_leaves_the_errors_of_single_partitions(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 1)
        await served.serve_groups("g")
        topics = [commits(part(0), topic="none"), commits(part(0), part(7))]
        request = OffsetCommitRequest("g", 5, "member", topics=topics)

        answer = await served.ask(request, 8)

        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert codes(answer) == [
            [(0, unknown)],
            [(0, ErrorCode.ILLEGAL_GENERATION), (7, unknown)],
        ]
        assert stored(served, "g", "t", 0) is None


@pytest.mark.parametrize("count", [1, 16, 17, 250])
async def test_many_partitions_are_answered_in_the_order_of_the_request(
    autojump_clock: MockClock, count: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", count)
        await served.serve_groups("g")
        order = list(range(count))[::-1]
        good = OffsetCommitRequest("g", topics=[commits(*(part(number) for number in order))])
        for _ in range(2):
            assert codes(await served.ask(good, 9)) == [[(number, 0) for number in order]]

        odd = [
            part(count),
            *(part(number, metadata="x" * 5000 * (number == 0)) for number in order),
        ]
        answer = await served.ask(OffsetCommitRequest("g", topics=[commits(*odd)]), 9)

        assert codes(answer) == [
            [
                (count, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                *((number, 0) for number in order[:-1]),
                (0, ErrorCode.OFFSET_METADATA_TOO_LARGE),
            ]
        ]


async def test_cached_answers_match_topic_and_partitions_of_each_request(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        ids = {name: await served.create_topic(name, 2) for name in ("t", "u")}
        await served.serve_groups("g")
        for version in (8, 9, 8, 10):
            for topic in ("t", "u"):
                for numbers in ((0,), (1,), (1, 0)):
                    commit = commits(*map(part, numbers), topic=topic, topic_id=ids[topic])
                    answer = await served.ask(OffsetCommitRequest("g", topics=[commit]), version)

                    (row,) = answer.topics
                    assert topic == row.name if version < IDS_SINCE else ids[topic] == row.topic_id
                    assert codes(answer) == [[(number, 0) for number in numbers]]


async def test_a_commit_for_an_unknown_topic_id_is_refused(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.serve_groups("g")
        request = OffsetCommitRequest("g", topics=[commits(part(0), topic_id=b"?" * 16)])

        answer = await served.ask(request, 10)

        assert codes(answer) == [[(0, ErrorCode.UNKNOWN_TOPIC_ID)]]


async def test_a_member_of_an_unknown_group_is_refused_for_each_partition(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        await served.serve_groups("g")
        for version, code in (
            (8, ErrorCode.ILLEGAL_GENERATION),
            (9, ErrorCode.GROUP_ID_NOT_FOUND),
        ):
            request = OffsetCommitRequest("g", 3, "m", topics=[commits(part(0), part(1))])
            answer = await served.ask(request, version)

            assert codes(answer) == [[(0, code), (1, code)]]


async def test_a_commit_before_the_offsets_topic_exists_is_answered_not_coordinator(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        answer = await served.ask(OffsetCommitRequest("g", topics=[commits(part(0))]), 9)

        assert codes(answer) == [[(0, ErrorCode.NOT_COORDINATOR)]]
        await trio.sleep(5.0)
        assert "__consumer_offsets" in served.broker.metadata.image.topics


async def test_lagging_replicas_make_the_coordinator_unavailable(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        let_follow(served, "g")
        answer = await served.ask(OffsetCommitRequest("g", topics=[commits(part(0))]), 9)

        assert codes(answer) == [[(0, ErrorCode.COORDINATOR_NOT_AVAILABLE)]]
        # Consumers before 3.9 do not know that error here.
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)])
        (group,) = (await served.ask(request, 9)).groups
        assert group.error_code == ErrorCode.NOT_COORDINATOR


async def test_a_waiting_commit_is_answered_not_coordinator_when_the_broker_stops(
    autojump_clock: MockClock,
) -> None:
    answers = []
    async with (
        trio.open_nursery() as nursery,
        broker({"controlled.shutdown.enable": "false"}) as served,
    ):
        await served.create_topic("t")
        await served.serve_groups("g")
        let_follow(served, "g")

        async def wait() -> None:
            request = OffsetCommitRequest("g", topics=[commits(part(0))])
            async with connected(served.broker.world, served.broker.endpoint) as client:
                answers.append(await client.ask(request, 9))

        nursery.start_soon(wait)
        await trio.sleep(0.1)

    assert [codes(answer) for answer in answers] == [[[(0, ErrorCode.NOT_COORDINATOR)]]]


@pytest.mark.parametrize("count", [1, 250])
async def test_a_waiting_commit_is_answered_when_its_records_are_committed(
    autojump_clock: MockClock, count: int
) -> None:
    answers = []
    async with broker() as served:
        await served.create_topic("t", count)
        await served.serve_groups("g")
        let_follow(served, "g")

        async def wait() -> None:
            request = OffsetCommitRequest("g", topics=[commits(*map(part, range(count)))])
            answers.append(codes(await served.ask(request, 9)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.sleep(0.1)
            assert answers == []
            number = served.broker.groups.topic.partition_of("g")
            partition = served.broker.replicas.partition("__consumer_offsets", number)
            partition.isr = (NodeId(1),)
            partition.advance()
            partition.changed(partition)

    assert answers == [[[(number, 0) for number in range(count)]]]


def let_follow(served: ServedBroker, group: str) -> None:
    """The partition of a group has a follower that is in sync, and gets nothing any more."""
    number = served.broker.groups.topic.partition_of(group)
    partition = served.broker.replicas.partition("__consumer_offsets", number)
    partition.isr = (NodeId(1), NodeId(7))


async def test_offsets_of_a_deleted_topic_are_deleted(autojump_clock: MockClock) -> None:
    async with broker() as served:
        for name in ("t", "u"):
            await served.create_topic(name)
        await served.serve_groups("g")
        topics = [commits(part(0)), commits(part(0), topic="u")]
        await served.ask(OffsetCommitRequest("g", topics=topics), 9)

        await delete_topic(served, "t")

        assert stored(served, "g", "t", 0) is None
        assert stored(served, "g", "u", 0) == 7


async def test_a_commit_without_topics_gets_an_empty_answer(autojump_clock: MockClock) -> None:
    async with broker() as served:
        assert (await served.ask(OffsetCommitRequest("g"), 9)).topics == []
