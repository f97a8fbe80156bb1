"""Handlers that are all busy."""

from tests.trio_kafka_admin.findings.kit import apply, handlers, moment, request, wait
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.handlers import busy_handlers

INSIDE = wait("plugin", "plugin", "enricher", "plugin enricher runs")


def test_busy_handlers_name_the_plugin_that_they_are_in_and_the_waiting_requests() -> None:
    served = [request(stage="handler", age_s=3.0, why=(INSIDE,)) for _ in range(8)]
    waiting = [request("Fetch", name, stage="queued") for name in ("a", "b", "b")]
    now = moment(1.0, handlers(8), requests=[*served, *waiting])

    [finding] = apply(busy_handlers, now)

    assert finding.words == (
        "all 8 handlers of plane data are busy: 8 with plugin enricher, for 3.0 s at most;"
        " 3 requests wait for one"
    )
    assert finding.because == (Subject("plugin", "enricher"),)
    assert (finding.hurt, finding.severity, finding.age_s) == (2, "wrong", 3.0)


def test_busy_handlers_without_a_plugin_name_the_api() -> None:
    served = [request("ListOffsets", stage="handler", age_s=2.0) for _ in range(2)]

    [finding] = apply(busy_handlers, moment(1.0, handlers(2, 2), requests=served))

    assert finding.more == ": 2 with ListOffsets, for 2.0 s at most; 0 requests wait for one"
    assert finding.severity == "watch"


def test_handlers_that_turn_over_or_have_a_free_one_are_healthy() -> None:
    quick = [request(stage="handler", age_s=0.01) for _ in range(8)]
    slow = [request(stage="handler", age_s=9.0) for _ in range(7)]

    assert apply(busy_handlers, moment(1.0, handlers(8), requests=quick)) == []
    assert apply(busy_handlers, moment(1.0, handlers(7), requests=slow)) == []
