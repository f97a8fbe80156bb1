"""Sentences of violations."""

from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers.violation import Violation, extent, shown


def test_violation_is_written_as_rule_and_text():
    assert (
        str(Violation(rule="lost", partition=TopicPartition("t", 0), offsets=(1,), text="gone"))
        == "lost: gone"
    )


def test_records_and_logs_are_written_in_short_form():
    assert shown(b"abc") == "b'abc'"
    assert len(shown(b"a" * 100)) == 63
    assert extent({}) == "the log is empty"
    assert extent({3: "a", 7: "b"}) == "the log has 3 to 7"
