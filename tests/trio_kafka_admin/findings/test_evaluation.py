"""Current findings, in words: all rules together."""

import pytest
from trio.testing import MockClock

from tests.trio_kafka_admin.findings.kit import (
    handlers,
    look,
    moment,
    node,
    request,
    wait,
    words_of,
)
from trio_kafka.introspect.tree import Figures
from trio_kafka_admin.findings.evaluation import MOST_OF_A_RULE, find, findings_of


@pytest.mark.parametrize(
    ("path", "kind", "figures", "words"),
    [
        (
            "p/requests",
            "channel",
            {"depth": 500, "bound": 500},
            "p/requests is full: 500 of 500 items",
        ),
        ("p/requests", "channel", {"depth": 499, "bound": 500}, None),
        ("p/responses", "channel", {"depth": 9, "bound": None}, None),
        (
            "p/requests",
            "channel",
            {"depth": 1, "bound": 5, "oldest_s": 5.25},
            "the oldest item of p/requests has waited for 5.2 s",
        ),
        ("p/requests", "channel", {"depth": 1, "bound": 5, "oldest_s": 4.9}, None),
        ("replica-manager/Fetch", "purgatory", {"waiting": 1, "oldest_s": 60.0}, None),
        (
            "p/num.io.threads",
            "limiter",
            {"tokens": 8, "borrowed": 8, "waiting": 3},
            "all 8 tokens of p/num.io.threads are taken, and 3 tasks wait",
        ),
        ("p/num.io.threads", "limiter", {"tokens": 8, "borrowed": 8, "waiting": 0}, None),
        ("p/num.io.threads", "limiter", {"tokens": 8, "borrowed": 7, "waiting": 1}, None),
        (
            "plugins/echo",
            "plugin",
            {"state": "failed", "error": "ValueError: no"},
            "plugin echo has failed: ValueError: no",
        ),
        ("plugins/echo", "plugin", {"state": "ready", "error": None}, None),
        (
            "scheduler/retention",
            "job",
            {"last_error": "OSError: full"},
            "job retention failed in its last run: OSError: full",
        ),
        ("scheduler/retention", "job", {"last_error": None}, None),
        (
            "lifecycle-manager",
            "part",
            {"state": "fenced"},
            "the broker is not serving: it is fenced",
        ),
        ("lifecycle-manager", "part", {"state": "running"}, None),
        (
            "watchdog",
            "part",
            {
                "blocks": 2,
                "last_ms": 812.4,
                "last_ago_s": 1.4,
                "last_task": "reader",
                "last_plugin": "echo",
                "last_where": "echo.py:12",
            },
            "echo blocked the loop for 812 ms, at echo.py:12, 1 s ago",
        ),
        (
            "watchdog",
            "part",
            {
                "blocks": 1,
                "last_ms": 600.0,
                "last_ago_s": 899.0,
                "last_task": "reader",
                "last_where": "a.py:1",
            },
            "reader blocked the loop for 600 ms, at a.py:1, 15 minutes ago",
        ),
        ("watchdog", "part", {"blocks": 2, "last_ms": 812.4, "last_ago_s": 901.0}, None),
        ("watchdog", "part", {"blocks": 0, "last_ms": None, "last_ago_s": None}, None),
        ("log-manager", "part", {"offline": 1}, "log directories offline: 1"),
        ("replica-manager", "part", {"offline": 2}, "partitions offline: 2"),
        (
            "replica-manager",
            "part",
            {"under_replicated": 3},
            "under-replicated partitions: 3",
        ),
        (
            "replica-manager",
            "part",
            {"offline": 1, "under_minimum": 1},
            "partitions offline: 1; partitions with fewer than min.insync.replicas in sync: 1",
        ),
        ("listening", "part", {"failed": 1}, "listeners that could not be opened: 1"),
        (
            "group-coordinator",
            "part",
            {"failed": 1},
            "partitions of __consumer_offsets that could not be loaded: 1",
        ),
        ("plugins/listening", "part", {"failed": 1}, None),
    ],
)
def test_finding_rule_reports_a_problem_in_a_single_snapshot(
    path: str, kind: str, figures: Figures, words: str | None
) -> None:
    findings = findings_of(None, moment(2.0, look(path, kind, figures)))

    assert words_of(findings) == ([] if words is None else words.split("; "))
    assert {finding.node for finding in findings} <= {f"broker-1/{path}"}


@pytest.mark.parametrize(
    ("path", "kind", "before", "after", "words"),
    [
        (
            "request-log",
            "channel",
            {"dropped": 1},
            {"dropped": 4},
            "request-log was full: 3 items were dropped",
        ),
        ("request-log", "channel", {"dropped": 4}, {"dropped": 4}, None),
        ("replica-manager/Fetch", "purgatory", {"dropped": 1}, {"dropped": 4}, None),
        (
            "plane data/loop",
            "part",
            {"busy_s": 1.0},
            {"busy_s": 2.9},
            "the loop of plane data is busy for 95 % of the time",
        ),
        ("plane data/loop", "part", {"busy_s": 1.0}, {"busy_s": 2.8}, None),
    ],
)
def test_finding_rule_reports_a_change_between_two_snapshots(
    path: str, kind: str, before: Figures, after: Figures, words: str | None
) -> None:
    earlier = moment(0.0, look(path, kind, before))
    later = moment(2.0, look(path, kind, after))

    assert words_of(findings_of(earlier, later)) == ([] if words is None else [words])
    assert findings_of(None, later) == []  # it may have been long ago


@pytest.mark.parametrize(
    ("kind", "figures"),
    [
        ("channel", {"bound": 5}),
        ("channel", {"bound": "inf", "depth": 1}),
        ("channel", {"bound": 5, "depth": None, "oldest_s": "long"}),
        ("limiter", {"tokens": "inf", "borrowed": 1, "waiting": 1}),
        ("limiter", {"waiting": 1}),
        ("job", {"last_error": 7}),
        ("plugin", {"state": "failed"}),
        ("part", {"blocks": "many"}),
    ],
)
def test_invalid_figures_of_a_node_hide_no_findings_of_other_nodes(
    kind: str, figures: Figures
) -> None:
    full = node("p/requests", "channel", depth=5, bound=5)
    odd = look("plugins/odd/watchdog", kind, figures)

    findings = findings_of(moment(0.0, odd, full), moment(1.0, odd, full))

    assert "p/requests is full: 5 of 5 items" in words_of(findings)


async def test_findings_in_slices_are_those_at_once_but_bounded(autojump_clock: MockClock) -> None:
    full = [node(f"p/{name}", "channel", depth=5, bound=5) for name in range(MOST_OF_A_RULE + 9)]
    few, many = moment(1.0, *full[:3]), moment(1.0, *full)

    assert await find(moment(0.0), few) == findings_of(moment(0.0), few)
    assert len(await find(moment(0.0), many)) == MOST_OF_A_RULE


def test_stuck_plugin_is_one_finding_with_all_that_comes_of_it_below() -> None:
    inside = wait("plugin", "plugin", "enricher", "plugin enricher runs")
    full = node("plane data/request-channel/requests", "channel", depth=20, bound=20, oldest_s=9.0)
    served = [request(stage="handler", age_s=9.0, why=(inside,)) for _ in range(2)]
    queued = [request("Metadata", f"c{n}", stage="queued", age_s=8.0) for n in range(20)]
    now = moment(1.0, full, handlers(2, 2, waiting=1), requests=[*served, *queued])

    [finding] = findings_of(moment(0.0), now)

    assert finding.words.startswith("plugin enricher holds 2 requests, for 9.0 s at most")
    assert finding.words.endswith("all 2 handlers of plane data are in it")
    assert {below.kind for below in finding.consequences} == {
        *("busy-handlers", "full-channel", "late-channel", "long-wait"),
    }
    assert (finding.severity, finding.hurt) == ("wrong", 20)
