"""When findings began, and those that are over."""

from typing import Any

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.history import KEPT_S, MOST, PRESENT_S, History


def finding(name: str = "disk", **more: Any) -> Finding:
    subject = Subject("directory", name)
    return Finding(kind="kind", title=name, subject=subject, **{"severity": "wrong", **more})


def test_finding_gets_older_while_it_lasts() -> None:
    history = History()
    history.add(10.0, [finding()])
    history.add(14.0, [finding()])

    assert [entry.age_s for entry in history.current] == [4.0]


def test_finding_that_says_its_age_began_before_it_was_first_seen() -> None:
    history = History()
    history.add(10.0, [finding(age_s=30.0)])
    history.add(12.0, [finding(age_s=32.0)])

    assert [entry.age_s for entry in history.current] == [32.0]


def test_ended_finding_stays_for_15_minutes_with_begin_and_end() -> None:
    history = History()
    history.add(10.0, [finding(age_s=5.0)])
    history.add(20.0, [])

    assert history.current == []
    [ended] = history.ended(50.0)
    assert (ended.age_s, ended.ended_ago_s) == (45.0, 30.0)
    assert history.ended(20.0 + KEPT_S) != []
    assert history.ended(20.1 + KEPT_S) == []


def test_finding_that_comes_back_is_no_longer_over() -> None:
    history = History()
    for at, findings in ((1.0, [finding()]), (2.0, []), (3.0, [finding()])):
        history.add(at, findings)

    assert [entry.age_s for entry in history.current] == [0.0]
    assert history.ended(3.0) == []


def test_wait_on_purpose_that_has_ended_is_forgotten() -> None:
    history = History()
    history.add(1.0, [finding(severity="waits")])
    history.add(2.0, [])

    assert history.ended(2.0) == []


def test_event_stands_among_what_lasts_for_a_minute_and_is_over_then() -> None:
    history = History()
    history.add(10.0, [finding(ended_ago_s=4.0, age_s=5.5)])
    assert [entry.ended_ago_s for entry in history.current] == [4.0]
    assert history.ended(10.0) == []

    at = 10.0 + PRESENT_S
    history.add(at, [finding(ended_ago_s=4.0 + PRESENT_S, age_s=5.5 + PRESENT_S)])

    assert history.current == []
    [ended] = history.ended(at + 1.0)
    assert (ended.ended_ago_s, ended.age_s) == (5.0 + PRESENT_S, 6.5 + PRESENT_S)


def test_event_that_another_event_displaces_is_kept_with_its_own_end() -> None:
    history = History()
    history.add(10.0, [finding("first", ended_ago_s=4.0)])
    history.add(20.0, [finding("second", ended_ago_s=1.0)])

    assert [entry.title for entry in history.current] == ["second"]
    assert [(entry.title, entry.ended_ago_s) for entry in history.ended(20.0)] == [("first", 14.0)]


def test_number_of_ended_findings_is_bounded() -> None:
    history = History()
    history.add(1.0, [finding(str(number)) for number in range(MOST + 20)])
    history.add(2.0, [])

    assert len(history.ended(2.0)) == MOST


def test_history_knows_the_moments_that_it_has_seen() -> None:
    history = History()
    assert not history.knows(1.0)
    history.add(1.0, [])

    assert history.knows(1.0)
    assert not history.knows(1.5)
