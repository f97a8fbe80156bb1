"""Defaults of struct fields: one for all, equal to any other, and safe from changes."""

import attrs
import pytest

from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.messages.k01_fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from trio_kafka.protocol.schema import fields_of


def test_messages_share_one_default_instance_of_a_struct_field():
    assert PartitionData().diverging_epoch is PartitionData().diverging_epoch
    assert PartitionData().current_leader is not PartitionData().diverging_epoch


def test_a_shared_default_equals_a_new_instance_of_its_class():
    default, created = PartitionData().diverging_epoch, EpochEndOffset()

    assert default == created
    assert created == default
    assert default != EpochEndOffset(3)
    assert isinstance(default, EpochEndOffset)
    assert repr(default) == repr(created)
    assert fields_of(type(default)) == fields_of(EpochEndOffset)
    assert repr(PartitionData()) == "PartitionData()"


def test_a_shared_default_is_immutable_and_its_copy_is_mutable():
    default = PartitionData().diverging_epoch

    with pytest.raises(AttributeError, match="assign a new EpochEndOffset"):
        default.epoch = 3
    with pytest.raises(AttributeError):
        del default.epoch
    copy = attrs.evolve(default, epoch=3)
    copy.end_offset = 4

    assert copy == EpochEndOffset(3, 4)
    assert PartitionData().diverging_epoch.epoch == -1


def test_a_struct_missing_in_a_frame_is_the_shared_default_instance():
    rows = [PartitionData(0, records=b""), PartitionData(1, records=b"")]
    rows[1].current_leader = LeaderIdAndEpoch(1, 2)
    message = FetchResponse(responses=[FetchableTopicResponse(topic_id=bytes(16), partitions=rows)])

    result, _ = decoder(FetchResponse, 16)(to_bytes(message, 16))

    first, second = result.responses[0].partitions
    assert first.current_leader is PartitionData().current_leader
    assert second.current_leader == LeaderIdAndEpoch(1, 2)
    second.current_leader.leader_id = 7


def test_a_tagged_struct_equal_to_its_default_is_not_written():
    plain, said = PartitionData(records=b""), PartitionData(records=b"")
    said.diverging_epoch = EpochEndOffset(-1, -1)

    assert to_bytes(FetchResponse(responses=[FetchableTopicResponse(partitions=[plain])]), 16) == (
        to_bytes(FetchResponse(responses=[FetchableTopicResponse(partitions=[said])]), 16)
    )
