"""Records of internal topics: their bytes."""

import pytest

from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.coordinators.shards.record_codec import UnknownTypeError
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.stored.groups.classic import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from trio_kafka.protocol.stored.groups.share import ShareGroupMetadataKey, ShareGroupMetadataValue


def test_a_key_begins_with_its_type_and_a_value_with_its_version() -> None:
    record = CoordinatorRecord(
        OffsetCommitKey("g", "t", 1), OffsetCommitValue(7, metadata="m", commit_timestamp=5)
    )

    key, value = GROUP_RECORDS.encode(record)

    assert key == b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x01"
    assert value is not None
    assert value[:2] == b"\x00\x04"
    assert GROUP_RECORDS.decode(key, value) == CoordinatorRecord(record.key, record.value, 4)


def test_group_metadata_are_encoded_in_the_last_inflexible_version() -> None:
    _, value = GROUP_RECORDS.encode(
        CoordinatorRecord(GroupMetadataKey("g"), GroupMetadataValue("consumer", 1, None, None, 3))
    )

    assert value is not None
    assert value[:2] == b"\x00\x03"


def test_a_tombstone_has_no_value() -> None:
    key, value = GROUP_RECORDS.encode(CoordinatorRecord(GroupMetadataKey("g")))

    assert value is None
    assert GROUP_RECORDS.decode(key, None) == CoordinatorRecord(GroupMetadataKey("g"))


def test_every_record_type_of_kafka_is_known() -> None:
    assert sorted(GROUP_RECORDS.all_types()) == [*range(9), *range(10, 18), *range(19, 24)]


def test_records_of_unserved_group_types_are_decoded() -> None:
    record = CoordinatorRecord(ShareGroupMetadataKey("g"), ShareGroupMetadataValue(3, 7), 0)

    assert GROUP_RECORDS.decode(*GROUP_RECORDS.encode(record)) == record


def test_unknown_type_and_malformed_record_raise_different_errors() -> None:
    with pytest.raises(UnknownTypeError, match="type 99"):
        GROUP_RECORDS.decode(b"\x00\x63", None)
    for key, value in ((b"\x00", None), (b"\x00\x02", None), (b"\x00\x02\x00\x01g", b"\x00")):
        with pytest.raises(DecodeError):
            GROUP_RECORDS.decode(key, value)
    with pytest.raises(DecodeError):
        GROUP_RECORDS.decode(b"\x00\x02\x00\x01g", b"\x00\x63")
