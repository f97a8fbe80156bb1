"""Limiters without a free token."""

from tests.trio_kafka_admin.findings.kit import apply, handlers, moment, node, request
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.limiters import spent_limiter


def test_limiter_is_a_finding_only_while_tasks_wait_for_it() -> None:
    for waiting, count in ((3, 1), (0, 0)):
        limiter = node("r/unpacking", "limiter", tokens=2, borrowed=2, waiting=waiting)
        assert len(apply(spent_limiter, moment(1.0, limiter))) == count


def test_handlers_that_hold_no_request_for_long_are_named_by_their_plane() -> None:
    now = moment(1.0, handlers(8, waiting=3))

    [finding] = apply(spent_limiter, now)

    assert finding.subject == Subject("limiter", "num.io.threads of plane data")


def test_handlers_that_hold_a_request_for_long_are_left_to_their_own_rule() -> None:
    now = moment(1.0, handlers(8, waiting=3), requests=[request(stage="handler", age_s=9.0)])

    assert apply(spent_limiter, now) == []
