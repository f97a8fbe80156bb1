"""What is wrong just now, in words."""

import pytest
from trio.testing import MockClock

from tests.trio_kafka_admin.kit import admin_ui
from trio_kafka.introspect.snapshots import NodeSnapshot, TreeSnapshot
from trio_kafka.introspect.tree import Figures
from trio_kafka_admin.derived_nodes import GROUP_LAG
from trio_kafka_admin.findings import RULES, findings


def look(path: str, kind: str, figures: Figures, at: float = 0.0) -> TreeSnapshot:
    names = ("broker-1", *path.split("/"))
    return TreeSnapshot(at, {names: NodeSnapshot(kind, names[-1], figures)})


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
    found = findings(None, look(path, kind, figures))

    assert [one.words for one in found] == ([] if words is None else [words])
    assert {one.node for one in found} <= {f"broker-1/{path}"}


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
    earlier, later = look(path, kind, before), look(path, kind, after, 2.0)

    assert [one.words for one in findings(earlier, later)] == ([] if words is None else [words])
    assert findings(None, later) == []  # it may have been long ago


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
    full = {"depth": 5, "bound": 5}
    nodes = {
        **look("plugins/odd/watchdog", kind, figures).nodes,
        **look("p/requests", "channel", full).nodes,
    }

    found = findings(TreeSnapshot(0.0, nodes), TreeSnapshot(1.0, nodes))

    assert "p/requests is full: 5 of 5 items" in [one.words for one in found]


async def test_findings_include_queues_of_plugins_and_processors(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        nodes = [node for _, node in ui.served.broker.node.walk()]
        [plugin] = [node for node in nodes if node.name == "generation-1"]
        plugin.add("plugin-queue", "channel", lambda: {"depth": 3, "bound": 3})
        processor = next(node for node in nodes if node.kind == "selector")
        processor.add("late-queue", "channel", lambda: {"depth": 1, "oldest_s": 6.0})
        found = (await ui.json("/admin/api/overview"))["findings"]

        assert [one["words"].partition(" ")[0] for one in found] == [
            "the",
            "plugins/admin/generation-1/plugin-queue",
        ]


def test_list_of_finding_rules_has_15_distinct_rules() -> None:
    names = {rule.__name__ for rule in RULES}

    assert len(names) == len(RULES) == 15


async def test_an_idle_broker_has_no_findings(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        assert (await ui.json("/admin/api/overview"))["findings"] == []
        page = await ui.page("/admin/overview")
        assert page.one("p", class_="good").text == "No problem found."


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            {"lag": 256_000, "members": 2},
            {"lag": 256_363, "members": 2},
            "group g lags by 256,363 records, 363 more than 2 s ago",
        ),
        (
            {"lag": 256_363, "members": 2},
            {"lag": 256_363, "members": 2},
            "group g lags by 256,363 records, unchanged for 2 s",
        ),
        ({"lag": 256_363, "members": 2}, {"lag": 256_362, "members": 2}, None),
        ({"lag": 256_363, "members": 0}, {"lag": 256_363, "members": 0}, None),
        ({"lag": 9_999, "members": 1}, {"lag": 9_999, "members": 1}, None),
    ],
)
def test_group_lag_that_grows_or_stays_large_with_members_is_a_finding(
    before: Figures, after: Figures, words: str | None
) -> None:
    path = ("broker-1", "group-coordinator", "lag of g")
    earlier, later = (
        TreeSnapshot(at, {path: NodeSnapshot(GROUP_LAG, "g", figures)})
        for at, figures in ((0.0, before), (2.0, after))
    )

    found = findings(earlier, later)

    assert [one.words for one in found] == ([] if words is None else [words])
    assert {one.node for one in found} <= {"broker-1/group-coordinator"}
    assert findings(None, later) == []


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
        ("Produce", {"count": 10, "total_ms": 10.0}, {"count": 10, "total_ms": 10.0}, None),
        ("Fetch", {"count": 10, "total_ms": 10.0}, {"count": 12, "total_ms": 1010.0}, None),
    ],
)
def test_slow_api_is_a_finding_unless_the_api_may_wait(
    api: str, before: Figures, after: Figures, words: str | None
) -> None:
    earlier, later = (
        look(f"plane data/requests/{api}", "part", figures, at)
        for at, figures in ((0.0, before), (2.0, after))
    )

    assert [one.words for one in findings(earlier, later)] == ([] if words is None else [words])
