"""All rules at once."""

import pytest

from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers import (
    BrokenGuaranteeError,
    History,
    check_history,
    find_violations,
)


def test_empty_history_passes_the_check():
    check_history(History(), {})


def test_check_applies_every_rule():
    history = History()
    for record, offset in (("a", 0), ("b", 1), ("c", 1), ("d", 3)):
        history.sent("p", "t", record, partition=0, idempotent=True)
        history.acknowledged("p", "t", 0, record, offset=offset)
    history.positioned("r", "t", 0, offset=0, group="g")
    history.read("r", "t", 0, "b", offset=1, group="g")
    history.commit_sent("r", "g", "t", 0, offset=9)
    history.committed("r", "g", "t", 0, offset=9)
    history.commit_found("g", "t", 0, offset=2, since=history.mark())
    log = {TopicPartition("t", 0): {0: "a", 1: "b", 2: "b"}}

    rules = {violation.rule for violation in find_violations(history, log)}

    assert rules == {
        "lost",
        "replaced",
        "doubled",
        "order",
        "skipped",
        "committed unread",
        "commit lost",
    }


def test_error_has_a_line_for_each_of_the_first_ten_violations():
    history = History()
    for offset in range(12):
        history.acknowledged("p", "t", 0, f"r{offset}", offset=offset)

    with pytest.raises(BrokenGuaranteeError) as caught:
        check_history(history, {})

    lines = str(caught.value).splitlines()
    assert len(lines) == 11
    assert lines[0] == "lost: 'r0' was acknowledged at offset 0 of t-0; the log is empty"
    assert lines[-1] == "... and 2 more"
    assert len(caught.value.violations) == 12
