"""Offsets as handlers reach them: the shard of each group is asked."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker
from trio_kafka.coordinators.groups.offset_values import (
    AskedTopic,
    Commit,
    FetchOffsets,
    PartitionOffset,
    TopicOffsets,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import ZERO_TOPIC_ID

ASKED = AskedTopic("t", ZERO_TOPIC_ID, [0])


def commit_of(group: str, offset: int) -> Commit:
    row = PartitionOffset(0, offset, -1, "m")
    return Commit(group_id=group, topics=[TopicOffsets("t", ZERO_TOPIC_ID, [row])])


async def test_each_group_has_its_own_offsets(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.serve_groups("a", "b")
        offsets = served.broker.groups.offsets
        assert offsets.commit(commit_of("a", 7), list) == [0]
        assert offsets.commit(commit_of("b", 8), list) == [0]
        assert offsets.delete("a", [ASKED], list) == [0]

        asked = [FetchOffsets(group_id=group, topics=[ASKED]) for group in ("a", "b")]
        told = offsets.fetch(asked, list)

    assert [[one.offset for one in topic.partitions] for (topic,) in told] == [[-1], [8]]


async def test_an_error_of_one_group_is_that_groups_answer(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.serve_groups("a")
        groups = served.broker.groups
        groups.runtime.shards.pop(groups.partition_of("b"))
        asked = [FetchOffsets(group_id=group, topics=[ASKED]) for group in ("a", "b")]
        known, error = groups.offsets.fetch(asked, list)

        assert known[0].partitions[0].offset == -1
        assert error.code is ErrorCode.NOT_COORDINATOR
        with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
            groups.offsets.commit(commit_of("b", 7), list)
        groups.runtime.shards.clear()


async def test_offsets_of_no_group_are_not_deleted(autojump_clock: MockClock) -> None:
    async with broker() as served:
        with pytest.raises(KafkaError, match="INVALID_GROUP_ID"):
            served.broker.groups.offsets.delete("", [ASKED], list)
