"""The headline: what the broker does, what waits and what is wrong, in one sentence."""

from typing import Any

from tests.trio_kafka_admin.findings.kit import connection, moment, request
from tests.trio_kafka_admin.landing.kit import finding
from trio_kafka.introspect.snapshots import HOPS, ApiLoad, LoopLoad
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.landing.headline import Headline, headline


def api(per_s: float | None, **hops_ms: float) -> ApiLoad:
    return ApiLoad(
        plane="plane data",
        api="Produce",
        count=1,
        per_s=per_s,
        hops_ms={hop: hops_ms.get(hop, 0.0) for hop in HOPS},
        total_ms=0.0,
        total_max_ms=0.0,
    )


def loop(connections: int, busy_percent: float | None = 28.0) -> LoopLoad:
    return LoopLoad(
        plane="plane data",
        connections=connections,
        passes_per_s=1.0,
        busy_percent=busy_percent,
        wake_ms=0.0,
        lag_ms=0.0,
        tasks=1,
    )


def of(*findings: Finding, apis: Any = (), **facts: Any) -> Headline:
    return headline(moment(1.0, **facts), findings, apis, loops=[loop(3)])


def test_headline_of_a_busy_broker_ends_with_the_worst_finding() -> None:
    facts: dict[str, Any] = {
        "connections": [connection("a"), connection("a", id="2"), connection("b")],
        "requests": [request(age_s=2.0), request(age_s=0.5)],
    }
    wrong = finding(title="group settlement waits for member settle-a")
    apis = [api(700.0, queue=0.2, local=0.2, remote=9.0), api(64.0, queue=0.4)]

    result = of(wrong, finding(severity="watch"), apis=apis, **facts)

    assert result.sentence == (
        "2 clients, 764 requests a second, 1 request waits, 1 to watch, 1 is wrong: group"
        " settlement waits for member settle-a"
    )
    assert result.more == (
        "3 connections open; a request takes 0.4 ms of work and queueing on average; the loop is"
        " busy for 28 % of the time"
    )
    assert (result.clients, result.connections, result.waiting) == (2, 3, 1)
    assert (result.wrong, result.watch, result.requests_per_s) == (1, 1, 764.0)


def test_headline_of_a_quiet_broker_says_that_nothing_is_wrong() -> None:
    result = of()

    assert result.sentence == "0 clients, 0 requests a second, nothing is wrong"
    assert result.work_ms is None


def test_small_rates_have_a_decimal_and_several_troubles_are_counted() -> None:
    result = of(finding(), finding("other"), apis=[api(2.5), api(None)])

    assert result.sentence == "0 clients, 2.5 requests a second, 2 are wrong: lag of something"
