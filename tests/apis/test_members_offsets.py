"""Members of groups commit and fetch offsets over the wire: who may, and what is kept of it."""

import pytest
from trio.testing import MockClock

from tests.apis.classic import GROUP, stable_group
from tests.apis.kit import NOW_MS, broker, stable
from tests.apis.test_k08_offset_commit import codes
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from trio_kafka.testing.broker import ServedBroker

COMMITS = stable(OffsetCommitRequest)
FETCHES = [version for version in stable(OffsetFetchRequest) if version >= 9]
INSTANCE_SINCE, EPOCH_SINCE = 7, 9  # of OffsetCommit
RETENTION = [version for version in COMMITS if version <= 4]
LEADER_EPOCH_SINCE = 6
STALE, UNKNOWN = ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID


async def committed(
    served: ServedBroker, version: int, topic_id: bytes, group: str = GROUP, **said: object
) -> int:
    """The error of a commit for partition 0 of the topic t."""
    part = OffsetCommitRequestPartition(0, 7, 4 if version >= LEADER_EPOCH_SINCE else -1, "m")
    topics = [OffsetCommitRequestTopic("t", topic_id, [part])]
    answer = await served.ask(OffsetCommitRequest(group, topics=topics, **said), version)  # type: ignore[arg-type]
    ((_, code),) = codes(answer)[0]
    return code


@pytest.mark.parametrize("version", COMMITS)
async def test_a_classic_member_commits_only_with_its_id_and_generation(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        group = await stable_group(served, instance="i")
        me, epoch = group.members[0], group.generation

        async def tried(epoch: int, member: str, **said: object) -> int:
            named = {"generation_id_or_member_epoch": epoch, "member_id": member, **said}
            return await committed(served, version, topic_id, **named)

        assert await tried(-1, "") == UNKNOWN
        assert await tried(epoch, "ghost") == UNKNOWN
        assert await tried(epoch + 1, me) == ErrorCode.ILLEGAL_GENERATION
        assert await tried(epoch - 1, me) == ErrorCode.ILLEGAL_GENERATION
        if version >= INSTANCE_SINCE:
            fenced = await tried(epoch, "before", group_instance_id="i")
            assert fenced == ErrorCode.FENCED_INSTANCE_ID
        assert served.broker.groups.coordinator.shard_of(GROUP).machine.offsets.count == 0
        assert await tried(epoch, me) == 0


async def a_member(served: ServedBroker) -> bytes:
    """Of KIP-848, in epoch 2, with a partition of the topic t, whose id is told."""
    topic_id = await served.create_topic("t")
    await served.serve_groups(GROUP)
    joining = ConsumerGroupHeartbeatRequest(
        GROUP,
        "m",
        0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    assert (await served.ask(joining, 1)).member_epoch == 2
    return topic_id


COMMITTERS = [
    ("m", 2, 0),
    ("m", 1, STALE),
    ("m", 3, STALE),
    ("ghost", 2, UNKNOWN),
    ("", -1, UNKNOWN),
]


@pytest.mark.parametrize("version", COMMITS)
async def test_a_consumer_group_member_commits_only_with_its_id_and_epoch(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await a_member(served)
        for member, epoch, code in COMMITTERS:
            said = {"generation_id_or_member_epoch": epoch, "member_id": member}
            result = await committed(served, version, topic_id, **said)

            has_code = version >= EPOCH_SINCE or code == UNKNOWN
            assert result == (code if has_code else ErrorCode.UNSUPPORTED_VERSION), (member, epoch)


@pytest.mark.parametrize("version", FETCHES)
@pytest.mark.parametrize(
    ("member", "epoch", "code"),
    [("m", 2, 0), (None, -1, 0), ("m", 1, STALE), ("m", 3, STALE), ("ghost", 2, UNKNOWN)],
)
async def test_a_consumer_group_member_fetches_offsets_only_with_its_id_and_epoch(
    autojump_clock: MockClock, version: int, member: str | None, epoch: int, code: ErrorCode
) -> None:
    async with broker() as served:
        topic_id = await a_member(served)
        said = {"generation_id_or_member_epoch": 2, "member_id": "m"}
        assert await committed(served, 9, topic_id, **said) == 0
        topics = [OffsetFetchRequestTopics("t", topic_id, [0])]
        group = OffsetFetchRequestGroup(GROUP, member, epoch, topics)
        (result,) = (await served.ask(OffsetFetchRequest(groups=[group]), version)).groups

    assert result.error_code == code
    offsets = [
        (partition.committed_offset, partition.committed_leader_epoch, partition.metadata)
        for topic in result.topics
        for partition in topic.partitions
    ]
    assert offsets == ([] if code else [(7, 4, "m")])


@pytest.mark.parametrize("version", RETENTION)
async def test_retention_time_in_an_old_offset_commit_sets_the_expiry(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        await served.serve_groups(GROUP)
        assert await committed(served, version, topic_id, retention_time_ms=60_000) == 0
        value = served.broker.groups.coordinator.shard_of(GROUP).machine.offsets.get(GROUP, "t", 0)

    assert value is not None
    assert value.expire_timestamp == value.commit_timestamp + 60_000 > NOW_MS
