"""Offsets to commit: topics by name and by id, and partitions that do not exist."""

import pytest

from tests.requests.test_context import context
from trio_kafka.coordinators.groups.offset_values import PartitionOffset, TopicOffsets
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage, PartitionState, TopicImage
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.model import NodeId, TopicId
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.requests.offsets_to_commit import UNKNOWN, OffsetsToCommit, final_codes

ID = TopicId(b"i" * 16)
HERE = PartitionState(replicas=(NodeId(1),), isr=(NodeId(1),))
TOPIC = TopicImage(name="t", id=ID, partitions={0: HERE})


def offsets_to_commit(*, has_ids: bool) -> OffsetsToCommit:
    of_request = context()
    image = MetadataImage(topics=ImmutableMap({"t": TOPIC}), topic_names=ImmutableMap({ID: "t"}))
    of_request.parts.metadata = MetadataCache(image)
    return OffsetsToCommit(of_request, has_ids)


@pytest.mark.parametrize("has_ids", [False, True])
def test_offsets_are_collected_by_topic_and_unknown_partitions_get_an_error(
    has_ids: bool,
) -> None:
    commit = offsets_to_commit(has_ids=has_ids)
    topic = OffsetCommitRequestTopic("" if has_ids else "t", ID if has_ids else bytes(16))

    commit.begin_topic(topic)
    codes = [
        commit.add(topic, OffsetCommitRequestPartition(number, 7, 2, "m")) for number in (1, 0)
    ]

    assert codes == [UNKNOWN, 0]
    assert commit.has_offsets
    assert commit.topics == [TopicOffsets("t", ID, [PartitionOffset(0, 7, 2, "m")])]


@pytest.mark.parametrize(
    ("has_ids", "error"), [(False, UNKNOWN), (True, ErrorCode.UNKNOWN_TOPIC_ID)]
)
def test_unknown_topic_is_refused(
    has_ids: bool,
    error: ErrorCode,
) -> None:
    commit = offsets_to_commit(has_ids=has_ids)

    with pytest.raises(KafkaError) as caught:
        commit.begin_topic(OffsetCommitRequestTopic("none", b"n" * 16))

    assert caught.value.code is error
    assert not commit.has_offsets


@pytest.mark.parametrize(
    ("of_group", "expected"),
    [([0, 12], [3, 0, 12, 3]), (KafkaError(ErrorCode.ILLEGAL_GENERATION), [3, 22, 22, 3])],
)
def test_answer_of_the_group_is_that_of_the_partitions_without_an_error_of_their_own(
    of_group: list[int] | KafkaError, expected: list[int]
) -> None:
    assert list(final_codes([[3, 0], [0, 3]], of_group)) == expected
