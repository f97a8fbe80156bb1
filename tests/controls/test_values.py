"""Values of the kit."""

import pytest

from trio_kafka.controls.values import Group, Member, StoredRecord, as_bytes


def test_str_is_encoded_and_record_text_is_decoded_as_utf_8():
    assert as_bytes("é") == "é".encode()
    assert as_bytes(b"x") == b"x"
    assert as_bytes(None) is None
    record = StoredRecord(
        topic="t", partition=0, offset=0, timestamp_ms=0, key=None, value="é".encode()
    )
    assert record.text == "é"
    with pytest.raises(UnicodeDecodeError):
        _ = StoredRecord(
            topic="t", partition=0, offset=0, timestamp_ms=0, key=None, value=b"\xff"
        ).text


def test_members_are_sorted_by_id():
    assert min(Member(member_id="b"), Member(member_id="a", client_id="z")).member_id == "a"


def test_total_lag_is_the_sum_over_all_partitions():
    group = Group(group_id="g", state="Stable", lag={("a", 0): 3, ("b", 1): 4})

    assert group.total_lag == 7
    assert Group(group_id="g", state="Dead").total_lag == 0
