"""Metrics without a name in Kafka: loop, hops of requests, quotas, counters."""

import re
from typing import Any, Final

import trio

from trio_kafka.introspect.metrics import Labels
from trio_kafka.introspect.request_metrics import HOPS
from trio_kafka.plugin import Kind
from trio_kafka.quotas.accounts import Accounts
from trio_kafka.requests.parts import Parts
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka_metrics.metric_values import MetricValues, native

_A_STEP: Final = 64
_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_]")

LAG = native(
    "loop_lag_seconds",
    Kind.GAUGE,
    "Longest pass of the loop in the last one to two minutes: the most that a ready task waits.",
    "plane",
)
PASSES = native("loop_passes_total", Kind.COUNTER, "Passes of the loop.", "plane")
BUSY = native("loop_busy_seconds_total", Kind.COUNTER, "Time in which the loop was busy.", "plane")
IDLE = native(
    "loop_idle_seconds_total", Kind.COUNTER, "Time in which the loop waited for I/O.", "plane"
)
WAKES = native(
    "task_scheduled_seconds",
    Kind.SUMMARY,
    "Time from the loop's wake-up to the start of a plane's task.",
    "plane",
)
WAKE_LONGEST = native("task_scheduled_seconds_max", Kind.GAUGE, "Longest since the start.", "plane")
TASKS = native("tasks", Kind.GAUGE, "Tasks.")
RUNNABLE = native("tasks_runnable", Kind.GAUGE, "Runnable tasks.")
HOPS_TAKEN = native(
    "request_hop_seconds",
    Kind.SUMMARY,
    "Time of requests in each hop; hop=total: all hops.",
    *("plane", "api", "hop"),
)
HOP_LONGEST = native(
    "request_hop_seconds_max",
    Kind.GAUGE,
    "Longest since the start.",
    *("plane", "api", "hop"),
)
THROTTLED = native(
    "throttled_connections", Kind.GAUGE, "Connections throttled by a quota.", "quota"
)
THROTTLE_TIME = native(
    "throttle_time_seconds_max",
    Kind.GAUGE,
    "Mean throttle time of the most throttled client over the last minute.",
    "quota",
)
ACCOUNTS = native(
    "quota_accounts", Kind.GAUGE, "Clients with a quota account of their own.", "quota"
)


def read_native(parts: Parts, collected: MetricValues) -> Steps[None]:
    """Read the metrics of the broker that Kafka does not have, in steps."""
    for plane in parts.planes:
        _read_loop(plane.budget, plane.name, collected)
        for key, sums in plane.request_metrics.settled():
            at = (plane.name, plane.request_metrics.name_of(key))
            for hop in HOPS:
                labels = HOPS_TAKEN.with_values(*at, hop)
                collected.summary(HOPS_TAKEN, labels, sums.count, total=sums.sums[hop])
                collected.set(HOP_LONGEST, sums.longest[hop], *at, hop)
            yield
    tasks = trio.lowlevel.current_statistics()
    collected.set(TASKS, tasks.tasks_living)
    collected.set(RUNNABLE, tasks.tasks_runnable)
    quotas = parts.quotas.quotas
    for quota in (quotas.produce, quotas.fetch, quotas.request, quotas.mutation):
        yield from _read_quota(quota.accounts, quotas.now_ms(), collected)
    yield from _read_counters(parts, collected)


def _read_loop(budget: LoopBudget, plane: str, collected: MetricValues) -> None:
    collected.set(LAG, float(budget.figures()["lag_ms"] or 0) / 1e3, plane)
    collected.set(PASSES, budget.passes, plane)
    collected.set(BUSY, budget.busy_s, plane)
    collected.set(IDLE, budget.idle_s, plane)
    collected.summary(WAKES, WAKES.with_values(plane), budget.wakes, total=budget.wake_s)
    collected.set(WAKE_LONGEST, budget.wake_longest_s, plane)


def _read_quota(accounts: Accounts[Any], now_ms: int, collected: MetricValues) -> Steps[None]:
    longest_ms = 0.0
    for number, account in enumerate(accounts, 1):
        longest_ms = max(longest_ms, account.waited.measure(now_ms) or 0.0)
        if not number % _A_STEP:
            yield
    collected.set(THROTTLED, accounts.waiting, accounts.name)
    collected.set(THROTTLE_TIME, longest_ms / 1e3, accounts.name)
    collected.set(ACCOUNTS, len(accounts), accounts.name)


def _read_counters(parts: Parts, collected: MetricValues) -> Steps[None]:
    """Read all counters. Counters of plugins have a prefix of their own, so that none looks like
    the broker's.
    """
    sums: dict[tuple[str, Labels], int] = {}
    for number, counted in enumerate(tuple(parts.counters), 1):
        labels = tuple((_ILLEGAL.sub("_", name), text) for name, text in counted.labels)
        of_plugin = any(name == "plugin" for name, _ in labels)
        stem = f"plugin_{counted.name}" if of_plugin else counted.name
        series = _ILLEGAL.sub("_", f"{stem}_total"), labels
        sums[series] = (
            sums.get(series, 0) + counted.value
        )  # names may differ in illegal characters only
        if not number % _A_STEP:
            yield
    for number, ((name, labels), value) in enumerate(sums.items(), 1):
        if collected.take(1):
            metric = native(name, Kind.COUNTER, "A counter of the broker, by its name.")
            collected.family(metric).add(value, labels)
        if not number % _A_STEP:
            yield
    yield
