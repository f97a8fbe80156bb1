"""Requests for committed offsets."""

from tests.clients.consumer.kit import T0, T1
from trio_kafka.clients.consumer.groups.offsets import (
    MemberIdentity,
    commit_request,
    committed_offsets,
)
from trio_kafka.clients.consumer.values import OffsetAndMetadata
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)


def test_commit_is_signed_by_the_member_and_keeps_epoch_and_text():
    identity = MemberIdentity(member_id="m", epoch=4, instance_id="i")

    request = commit_request("g", identity, {T0: OffsetAndMetadata(5, 2, "x")})

    assert (request.member_id, request.generation_id_or_member_epoch) == ("m", 4)
    row = request.topics[0].partitions[0]
    assert (row.committed_offset, row.committed_leader_epoch, row.committed_metadata) == (5, 2, "x")


def test_missing_offset_is_not_an_error():
    rows = [
        OffsetFetchResponsePartition(partition_index=0, committed_offset=-1),
        OffsetFetchResponsePartition(partition_index=1, committed_offset=-1, error_code=29),
    ]
    topic = OffsetFetchResponseTopic(name="t", partitions=rows)

    answers = committed_offsets(OffsetFetchResponse(topics=[topic]))

    assert (answers[T0].offset, int(answers[T0].code)) == (None, 0)
    assert int(answers[T1].code) == 29
