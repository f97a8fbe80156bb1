"""Loops that are busy, or were blocked."""

from tests.trio_kafka_admin.findings.kit import apply, moment, node
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.history import KEPT_S
from trio_kafka_admin.findings.rules.loops import blocked_loop, busy_loop
from trio_kafka_admin.moments import Moment


def test_block_of_the_loop_names_plugin_line_and_time() -> None:
    figures = {"last_ms": 1500.0, "last_task": "t", "last_plugin": "x", "last_where": "x.py:12"}
    now = moment(1.0, node("watchdog", "part", blocks=1, last_ago_s=240.0, **figures))

    [finding] = apply(blocked_loop, now)

    assert finding.words == "x blocked the loop for 1500 ms, at x.py:12, 4 minutes ago"
    assert (finding.subject, finding.severity) == (Subject("plugin", "x"), "watch")
    assert (finding.ended_ago_s, finding.age_s) == (240.0, 241.5)


def test_block_of_the_last_minute_is_wrong_and_an_old_one_is_forgotten() -> None:
    def severities(ago_s: float) -> list[str]:
        now = moment(1.0, node("watchdog", "part", blocks=1, last_ms=600.0, last_ago_s=ago_s))
        return [finding.severity for finding in apply(blocked_loop, now)]

    assert severities(59.0) == ["wrong"]
    assert severities(61.0) == ["watch"]
    assert severities(KEPT_S + 1) == []


def test_busy_loop_needs_two_moments() -> None:
    before = moment(0.0, node("plane data/loop", "part", busy_s=1.0))
    now = moment(2.0, node("plane data/loop", "part", busy_s=2.9))

    assert len(apply(busy_loop, now, before)) == 1
    assert apply(busy_loop, now) == []
    assert apply(busy_loop, now, moment(0.0)) == []  # it is new since then


def test_loop_in_virtual_time_is_never_busy() -> None:
    def loop(at: float, busy_s: float) -> Moment:
        return moment(at, node("plane data/loop", "part", busy_s=busy_s, idle_s=0.0))

    assert apply(busy_loop, loop(2.0, 2.0), loop(0.0, 0.0)) == []
