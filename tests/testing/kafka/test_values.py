"""Values of the kit."""

import pytest

from trio_kafka.testing.kafka.values import Member, StoredRecord, as_bytes


def test_a_str_is_utf_8_and_a_value_is_text():
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
