"""Each rule about records: what it lets pass, and the sentence for what it does not."""

import pytest

from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers import (
    History,
    disordered_records,
    doubled_records,
    lost_records,
    replaced_records,
    skipped_records,
)

T0 = TopicPartition("t", 0)


@pytest.fixture
def history() -> History:
    """Producer p has sent a, b and c, and was told offsets 0, 1 and 2; c has read a and b."""
    result = History()
    for offset, record in enumerate("abc"):
        result.sent("p", "t", record, partition=0, idempotent=True)
        result.acknowledged("p", "t", 0, record, offset=offset)
    for offset, record in enumerate("ab"):
        result.read("c", "t", 0, record, offset=offset)
    return result


def log_of(records: str) -> dict[TopicPartition, dict[int, str]]:
    return {T0: dict(enumerate(records))}


def texts(violations) -> list[str]:
    return [violation.text for violation in violations]


def test_correct_history_has_no_violation(history):
    log = log_of("abcd")

    for result in (lost_records(history, log), replaced_records(history, log)):
        assert result == []
    assert doubled_records(history, log) == skipped_records(history, log) == []
    assert disordered_records(history) == []


def test_lost_record_is_reported_with_partition_and_offset(history):
    assert texts(lost_records(history, log_of("ab"))) == [
        "'c' was acknowledged at offset 2 of t-0; the log has 0 to 1"
    ]
    assert texts(lost_records(history, {}))[0] == (
        "'a' was acknowledged at offset 0 of t-0; the log is empty"
    )


def test_record_read_but_never_acknowledged_must_not_be_lost():
    history = History()
    history.read("c", "t", 0, "x", offset=5)

    (result,) = lost_records(history, log_of("a"))

    assert result.offsets == (5,)
    assert "read by c" in result.text


def test_records_below_the_start_offset_are_not_reported_as_lost(history):
    log = {T0: {2: "c"}}

    assert len(lost_records(history, log)) == 2
    assert lost_records(history, log, {T0: 2}) == []


def test_acknowledged_record_without_an_offset_may_be_at_any_offset(history):
    history.acknowledged("p", "t", 0, "d", offset=-1)

    assert lost_records(history, log_of("abcd")) == []
    assert texts(lost_records(history, log_of("abc"))) == [
        "'d' was acknowledged in t-0; the log has 0 to 2, without it"
    ]


def test_two_records_at_the_same_offset_are_reported_with_their_sources(history):
    history.read("d", "t", 0, "x", offset=1)

    assert texts(replaced_records(history, log_of("abc"))) == [
        "offset 1 of t-0: 'b' was acknowledged, 'x' was read by d"
    ]
    assert texts(replaced_records(history, log_of("abz")))[1] == (
        "offset 2 of t-0: 'c' was acknowledged, the log has 'z'"
    )


def test_duplicated_record_is_reported_with_all_its_offsets(history):
    assert texts(doubled_records(history, log_of("abcb"))) == [
        "'b' was sent once with idempotence, and is at offset 1 of t-0, offset 3 of t-0"
    ]


def test_record_sent_twice_may_be_in_the_log_twice(history):
    history.sent("p", "t", "b", partition=0, idempotent=True)

    assert doubled_records(history, log_of("abcb")) == []


def test_record_may_be_duplicated_without_idempotence():
    history = History()
    history.sent("p", "t", "a", partition=0)

    assert doubled_records(history, log_of("aa")) == []


def test_records_out_of_the_order_of_their_producer_are_reported():
    history = History()
    for record in "ab":
        history.sent("p", "t", record, partition=0)
    history.acknowledged("p", "t", 0, "b", offset=3)
    history.acknowledged("p", "t", 0, "a", offset=4)

    assert texts(disordered_records(history)) == [
        "p sent 'a' before 'b' to t-0; their offsets are 4 and 3"
    ]


def test_offset_read_twice_without_a_seek_is_reported(history):
    history.positioned("c", "t", 0, offset=0)
    history.read("c", "t", 0, "a", offset=0)
    assert disordered_records(history) == []

    history.read("c", "t", 0, "a", offset=0)
    assert texts(disordered_records(history)) == ["c read offset 0 of t-0 ('a') after offset 0"]


def test_skipped_record_is_reported_and_a_gap_by_compaction_is_not():
    history = History()
    history.positioned("c", "t", 0, offset=1)
    history.read("c", "t", 0, "d", offset=3)

    assert texts(skipped_records(history, log_of("abcd"))) == [
        "c was at offset 1 of t-0 and read 3 next; 'b' is at 1"
    ]
    # A compacted log has gaps.
    assert skipped_records(history, {T0: {0: "a", 3: "d"}}) == []


def test_long_record_is_shortened_in_a_report():
    history = History()
    history.acknowledged("p", "t", 0, "x" * 100, offset=0)

    (result,) = lost_records(history, {})

    assert len(result.text) < 130
    assert "..." in result.text
