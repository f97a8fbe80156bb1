"""APIs that should be prompt and are slow."""

import pytest

from tests.trio_kafka_admin.findings.kit import apply, moment, node, request, wait, words_of
from trio_kafka.introspect.tree import Figures
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.slow_apis import slow_api


@pytest.mark.parametrize(
    ("api", "before", "after", "words"),
    [
        (
            "Produce",
            {"count": 10, "total_ms": 10.0, "queue_ms": 1.0, "local_ms": 8.0},
            {"count": 12, "total_ms": 1210.0, "queue_ms": 1001.0, "local_ms": 208.0},
            "Produce takes 600 ms on average, 500 ms of it waiting for a handler",
        ),
        ("Produce", {"count": 10, "total_ms": 10.0}, {"count": 12, "total_ms": 209.0}, None),
        ("OffsetCommit", {"count": 1, "total_ms": 0.0}, {"count": 6, "total_ms": 900.0}, None),
        ("Produce", {"count": 10, "total_ms": 10.0}, {"count": 10, "total_ms": 10.0}, None),
        ("Fetch", {"count": 10, "total_ms": 10.0}, {"count": 12, "total_ms": 1010.0}, None),
    ],
)
def test_slow_api_is_a_finding_unless_the_api_may_wait(
    api: str, before: Figures, after: Figures, words: str | None
) -> None:
    earlier, later = (
        moment(at, node(f"plane data/requests/{api}", "part", **figures))
        for at, figures in ((0.0, before), (2.0, after))
    )

    assert words_of(apply(slow_api, later, earlier)) == ([] if words is None else [words])


def slowed(
    hop: str, *others: dict[tuple[str, ...], object], **facts: object
) -> tuple[Subject, ...]:
    """Reasons of a slow Produce whose time goes into one hop."""
    figures = {"count": 2, "total_ms": 2000.0, f"{hop}_ms": 2000.0}
    now = moment(1.0, node("plane data/requests/Produce", "part", **figures), *others, **facts)  # type: ignore[arg-type]
    [finding] = apply(slow_api, now, moment(0.0))
    return finding.because


def test_api_that_waits_for_handlers_comes_of_them() -> None:
    assert slowed("queue") == (Subject("limiter", "num.io.threads of plane data"),)


def test_api_that_is_slow_in_its_handler_comes_of_slow_plugins_and_fault_rules_about_it() -> None:
    plugin = node("interceptors/enricher around", "part", owner="enricher", calls=2, ms=2000.0)
    rules = [
        node(f"faults/{name}", "part", rule=rule, hits=2)
        for name, rule in (("late", '{"api": "Produce"}'), ("other", '{"api": "Fetch"}'))
    ]

    assert slowed("local", plugin, *rules) == (
        Subject("plugin", "enricher"),
        Subject("fault rule", "late"),
    )


def test_api_comes_of_all_that_its_requests_in_flight_wait_for() -> None:
    chain = (wait("sync", "partition", "t-0"), wait("sync", "directory", "/data"))

    assert slowed("send", requests=[request(why=chain)]) == (
        Subject("partition", "t-0"),
        Subject("directory", "/data"),
    )
