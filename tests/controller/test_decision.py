"""Decisions."""

from trio_kafka.controller.decision import Decision


def test_a_decision_without_records_changes_nothing() -> None:
    assert Decision("answer").records == ()
