"""OffsetFetch: offsets of one group and of many, by name and by id, all of them, and none."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, stable
from tests.apis.test_k08_offset_commit import commits, part
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k08_offset_commit import OffsetCommitRequest
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey, OffsetCommitValue
from trio_kafka.testing.broker import ServedBroker

MANY_SINCE, IDS_SINCE, ALL_SINCE = 8, 10, 2


async def commit(served: ServedBroker, group: str, topic: str, partition: int, offset: int) -> None:
    topics = [commits(part(partition, offset), topic=topic)]
    answer = await served.ask(OffsetCommitRequest(group, topics=topics), 9)
    assert answer.topics[0].partitions[0].error_code == 0


def asking(
    version: int, *partitions: int, group: str = "g", topic_id: bytes = bytes(16), stable=False
) -> OffsetFetchRequest:
    if version < MANY_SINCE:
        topics = [OffsetFetchRequestTopic("t", list(partitions))]
        return OffsetFetchRequest(group, topics=topics, require_stable=stable)
    many = [OffsetFetchRequestTopics("t", topic_id, list(partitions))]
    groups = [OffsetFetchRequestGroup(group, topics=many)]
    return OffsetFetchRequest(groups=groups, require_stable=stable)


def offsets_of(answer: OffsetFetchResponse) -> dict[tuple[str, bytes, int], tuple[int, str, int]]:
    """Offset, metadata and error by topic and partition, of one group."""
    if answer.groups:
        (group,) = answer.groups
        assert group.error_code == 0
        rows = [(topic.name, topic.topic_id, topic.partitions) for topic in group.topics]
    else:
        assert answer.error_code == 0
        rows = [(topic.name, bytes(16), topic.partitions) for topic in answer.topics]
    return {
        (name, topic_id, partition.partition_index): (
            partition.committed_offset,
            partition.metadata,
            partition.error_code,
        )
        for name, topic_id, parts in rows
        for partition in parts
    }


@pytest.mark.parametrize("version", stable(OffsetFetchRequest))
async def test_a_committed_offset_is_returned_and_minus_1_for_a_partition_without_one(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t", 3)
        await served.serve_groups("g")
        await commit(served, "g", "t", 1, 7)
        answer = await served.ask(asking(version, 1, 2, topic_id=topic_id), version)

    key = ("", topic_id) if version >= IDS_SINCE else ("t", bytes(16))
    assert offsets_of(answer) == {(*key, 1): (7, "m", 0), (*key, 2): (-1, "", 0)}


@pytest.mark.parametrize("version", stable(OffsetFetchRequest)[ALL_SINCE - 1 :])
async def test_all_offsets_of_a_group_are_returned_without_a_list_of_topics(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        ids = [await served.create_topic(name, 2) for name in ("t", "u")]
        await served.serve_groups("g", "h")
        await commit(served, "g", "t", 1, 7)
        await commit(served, "g", "u", 0, 8)
        await commit(served, "h", "u", 1, 9)
        request = OffsetFetchRequest("g", topics=None)
        if version >= MANY_SINCE:
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)])
        answer = await served.ask(request, version)

    if version >= IDS_SINCE:
        keys = [("", ids[0], 1), ("", ids[1], 0)]
    else:
        keys = [("t", bytes(16), 1), ("u", bytes(16), 0)]
    assert {key: offset for key, (offset, *_) in offsets_of(answer).items()} == {
        keys[0]: 7,
        keys[1]: 8,
    }


async def test_many_groups_are_answered_in_the_order_of_the_request(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g", "h", "i")
        await commit(served, "g", "t", 0, 7)
        await commit(served, "h", "t", 0, 8)
        topics = [OffsetFetchRequestTopics("t", partition_indexes=[0])]
        groups = [OffsetFetchRequestGroup(name, topics=list(topics)) for name in ("h", "i", "g")]
        answer = await served.ask(OffsetFetchRequest(groups=groups), 9)

    assert [
        (group.group_id, group.topics[0].partitions[0].committed_offset) for group in answer.groups
    ] == [("h", 8), ("i", -1), ("g", 7)]


async def test_an_unknown_topic_id_is_an_error_for_its_partitions_only(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        await served.serve_groups("g")
        await commit(served, "g", "t", 0, 7)
        topics = [
            OffsetFetchRequestTopics("", b"?" * 16, [0, 1]),
            OffsetFetchRequestTopics("", topic_id, [0]),
        ]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=topics)])
        (group,) = (await served.ask(request, 10)).groups

    unknown = ErrorCode.UNKNOWN_TOPIC_ID
    assert [
        [(partition.committed_offset, partition.error_code) for partition in topic.partitions]
        for topic in group.topics
    ] == [[(-1, unknown), (-1, unknown)], [(7, 0)]]


@pytest.mark.parametrize("version", [7, 8, 9])
async def test_a_fetch_of_stable_offsets_fails_while_a_transaction_is_pending(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        await commit(served, "g", "t", 0, 7)
        pending = served.broker.groups.coordinator.shard_of("g").machine.offsets.pending
        pending.add(1, OffsetCommitKey("g", "t", 0), OffsetCommitValue(9, metadata=""))
        unstable = await served.ask(asking(version, 0, stable=True), version)
        plain = await served.ask(asking(version, 0), version)

    code = ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert list(offsets_of(unstable).values()) == [(-1, "", code)]
    assert list(offsets_of(plain).values()) == [(7, "m", 0)]


@pytest.mark.parametrize("version", stable(OffsetFetchRequest))
async def test_a_fetch_before_the_offsets_topic_exists_is_answered_not_coordinator(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        answer = await served.ask(asking(version, 0, topic_id=topic_id), version)

    code = ErrorCode.NOT_COORDINATOR
    if version >= MANY_SINCE:
        assert [group.error_code for group in answer.groups] == [code]
    else:
        assert [partition.error_code for partition in answer.topics[0].partitions] == [code]
        assert version < ALL_SINCE or answer.error_code == code


@pytest.mark.parametrize("version", [7, 9])
async def test_many_partitions_are_committed_and_fetched(
    autojump_clock: MockClock, version: int
) -> None:
    count = 450
    async with broker() as served:
        await served.create_topic("t", count)
        await served.serve_groups("g")
        topics = [commits(*(part(number, number) for number in range(count + 1)))]
        answer = await served.ask(OffsetCommitRequest("g", topics=topics), 9)
        result = await served.ask(asking(version, *range(count)), version)

    codes = [partition.error_code for partition in answer.topics[0].partitions]
    assert codes == [0] * count + [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert [offset for offset, *_ in offsets_of(result).values()] == list(range(count))


async def test_a_group_named_repeatedly_is_answered_once_with_all_its_requested_partitions(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        for name in ("t", "u"):
            await served.create_topic(name, 3)
        await served.serve_groups("g", "h")
        await commit(served, "g", "t", 0, 7)
        await commit(served, "g", "u", 1, 8)
        groups = [
            OffsetFetchRequestGroup(
                "g", topics=[OffsetFetchRequestTopics("t", partition_indexes=[0, 2, 0])]
            ),
            OffsetFetchRequestGroup("h", topics=None),
            OffsetFetchRequestGroup(
                "g", topics=[OffsetFetchRequestTopics("u", partition_indexes=[1])]
            ),
            OffsetFetchRequestGroup(
                "g", topics=[OffsetFetchRequestTopics("t", partition_indexes=[2, 1])]
            ),
            OffsetFetchRequestGroup(
                "h", topics=[OffsetFetchRequestTopics("u", partition_indexes=[1])]
            ),
        ]
        answer = await served.ask(OffsetFetchRequest(groups=groups * 100), 9)

    assert [
        (
            group.group_id,
            [
                (
                    topic.name,
                    [
                        (partition.partition_index, partition.committed_offset)
                        for partition in topic.partitions
                    ],
                )
                for topic in group.topics
            ],
        )
        for group in answer.groups
    ] == [("g", [("t", [(0, 7), (2, -1), (1, -1)]), ("u", [(1, 8)])]), ("h", [])]


async def test_a_partition_named_repeatedly_is_answered_once(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        await served.serve_groups("g")
        await commit(served, "g", "t", 1, 7)
        answer = await served.ask(asking(7, *[1] * 5000, 0), 7)

    (topic,) = answer.topics
    assert [
        (partition.partition_index, partition.committed_offset) for partition in topic.partitions
    ] == [
        (1, 7),
        (0, -1),
    ]
